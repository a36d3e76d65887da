/** Stands for a prover's program that can't be loaded. */
throw new Error('This program fails to load.')
