/*
 * rapidsnark with its files in memory, for bench/rapidsnark.ts: does its work once for each byte read, and prints the
 * milliseconds that it took. Usage: prove ZKEY WITNESS PROOF PUBLIC, the last two written once; or verify VKEY PROOF PUBLIC.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "prover.h"
#include "verifier.h"

#define MESSAGE_BYTES 1024

static char message[MESSAGE_BYTES];

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, message);
  exit(1);
}

/* The bytes of a file, with a zero behind them. */
static char *read_file(const char *name, unsigned long long *size) {
  FILE *file = fopen(name, "rb");
  if (file == NULL) fail(name);
  fseek(file, 0, SEEK_END);
  *size = (unsigned long long)ftell(file);
  rewind(file);
  char *bytes = calloc(*size + 1, 1);
  if (bytes == NULL || fread(bytes, 1, *size, file) != *size) fail(name);
  fclose(file);
  return bytes;
}

static void write_file(const char *name, const char *bytes, unsigned long long size) {
  FILE *file = fopen(name, "wb");
  if (file == NULL || fwrite(bytes, 1, size, file) != size) fail(name);
  fclose(file);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static void *prover;
static char *witness, *proof, *inputs, *key;
static unsigned long long witness_size, proof_room, proof_size, inputs_room, inputs_size;

static void prove(void) {
  proof_size = proof_room;
  inputs_size = inputs_room;
  if (groth16_prover_prove(prover, witness, witness_size, proof, &proof_size, inputs, &inputs_size, message,
                           MESSAGE_BYTES) != PROVER_OK)
    fail("prove");
}

static void verify(void) {
  if (groth16_verify(proof, inputs, key, message, MESSAGE_BYTES) != VERIFIER_VALID_PROOF) fail("verify");
}

static void prepare_prover(char **files) {
  unsigned long long size;
  const char *zkey = read_file(files[0], &size);
  if (groth16_prover_create(&prover, zkey, size, message, MESSAGE_BYTES) != PROVER_OK) fail("create");
  if (groth16_public_size_for_zkey_buf(zkey, size, &inputs_room, message, MESSAGE_BYTES) != PROVER_OK) fail("size");
  groth16_proof_size(&proof_room);
  witness = read_file(files[1], &witness_size);
  proof = calloc(proof_room + 1, 1);
  inputs = calloc(inputs_room + 1, 1);
  prove();
  write_file(files[2], proof, proof_size);
  write_file(files[3], inputs, inputs_size);
}

int main(int count, char **arguments) {
  unsigned long long size;
  void (*work)(void) = verify;
  if (count == 6 && strcmp(arguments[1], "prove") == 0) {
    prepare_prover(arguments + 2);
    work = prove;
  } else if (count == 5 && strcmp(arguments[1], "verify") == 0) {
    key = read_file(arguments[2], &size);
    proof = read_file(arguments[3], &size);
    inputs = read_file(arguments[4], &size);
    verify();
  } else {
    return 2;
  }
  while (getchar() != EOF) {
    const double start = now();
    work();
    printf("%.3f\n", now() - start);
    fflush(stdout);
  }
  return 0;
}
