/* A library with instrumented functions, which `region_trouble library` loads and unloads. */
__attribute__((noinline, noclone)) static int plugin_inner(int number)
{
    __asm__ volatile("" : "+r"(number));
    return number + 1;
}

int plugin_work(int number);
int plugin_work(int number)
{
    return plugin_inner(number) - 1;
}
