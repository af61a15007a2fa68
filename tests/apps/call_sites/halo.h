/* Exchanges a value with another rank. */
void halo(int with);
