/* A shared object that exports no codec package. */
int synps_test_not_a_package(void);
int synps_test_not_a_package(void) {
  return 1;
}
