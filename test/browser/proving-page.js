import { createOfflinePaymentProving, fetchCircuitFiles, verifyPairing } from '/proving.js'

// What the tests call.
globalThis.provePayment = async (claim) => {
  const files = await fetchCircuitFiles(claim.baseUrl, 'offline_validation')
  const proving = await createOfflinePaymentProving(files)
  const made = await proving.prove(claim)
  const verdict = await verifyPairing(files.verificationKey, made.proof, made.publicSignals)
  const altered = await verifyPairing(files.verificationKey, made.proof, made.publicSignals.with(0, '1'))
  return { ...made, verdict, altered }
}
globalThis.isReady = true
