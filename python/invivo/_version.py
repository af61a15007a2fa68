"""The version of this package: that of the Invivo that it belongs to."""

VERSION = "0.1.0"
