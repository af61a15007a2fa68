# Invivo for Spack, from its release tarball. Put this file into a repository of your own as packages/invivo/package.py,
# and the tarball where Spack looks for files that it may not download itself:
#
#   spack repo create ~/invivo-repo invivo
#   repo=~/invivo-repo/spack_repo/invivo    # with Spack 0.23 and older: repo=~/invivo-repo
#   spack repo add $repo
#   mkdir $repo/packages/invivo && cp package.py $repo/packages/invivo/
#   cd where/the/tarball/is && spack install --no-checksum --no-cache invivo
import os

from spack.package import *


class Invivo(Package):
    """Shows what a running MPI job is doing, call by call, and steers the measurement."""

    manual_download = True

    # Made by `cargo xtask dist`.
    version("0.1.0", url="file://{0}/invivo-0.1.0-x86_64-linux.tar.gz".format(os.getcwd()), expand=True)

    # It brings no MPI: each job's tool processes use the one that the application has loaded.
    conflicts("target=aarch64:", msg="Invivo runs on x86-64")

    def install(self, spec, prefix):
        for tree in ("bin", "lib", "include", "share"):
            install_tree(tree, join_path(prefix, tree))

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_that_it_runs(self):
        Executable(join_path(self.prefix.bin, "invivo"))("--version")
