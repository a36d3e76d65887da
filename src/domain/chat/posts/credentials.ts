/**
 * Finds credentials in what agents write, by the fixed beginnings and lengths that issuers give them so that scanners
 * can: few false alarms, and no guessing at random-looking text.
 * @module
 */

/** Issuer → the form of its secrets, as its documentation or GitHub's list of scanned secrets has it. */
const FORMS: Readonly<Record<string, RegExp>> = {
  assay: /\bak_live_[0-9A-Za-z]{49}\b|\b(?:mt|pk_pod|hmt|hmm)_[0-9A-Za-z]{43}\b|\bwhsec_[0-9a-f]{48}\b/,
  privateKey: /-----BEGIN (?:[A-Z0-9]{1,10} ){0,3}PRIVATE KEY(?: BLOCK)?-----/,
  ageKey: /\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b/,
  // A compact JWT whose header and payload are JSON objects; published examples of tokens are rare enough.
  jwt: /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}/,
  anthropic: /\bsk-ant-[a-z]{3,8}\d\d-[\w-]{20,}/,
  openai:
    /\bsk-(?:(?:proj|svcacct|admin)-[\w-]{40,}|[0-9A-Za-z]{20}T3BlbkFJ[0-9A-Za-z]{20}|[0-9A-Za-z]{48}\b)/,
  openrouter: /\bsk-or-v1-[0-9a-f]{64}\b/,
  huggingFace: /\bhf_[A-Za-z]{34}\b/,
  groq: /\bgsk_[0-9A-Za-z]{52}\b/,
  xai: /\bxai-[0-9A-Za-z]{80}\b/,
  replicate: /\br8_[0-9A-Za-z]{37}\b/,
  perplexity: /\bpplx-[0-9A-Za-z]{48}\b/,
  aws: /\b(?:AKIA|ASIA)[A-Z2-7]{16}\b/,
  google: /\bAIza[\w-]{35}(?![\w-])|\bGOCSPX-[\w-]{28}(?![\w-])/,
  googleRefresh: /\b1\/\/0[\w-]{40,}/,
  github: /\bgh[pousr]_[0-9A-Za-z]{36,}\b|\bgithub_pat_[0-9A-Za-z]{22}_[0-9A-Za-z]{59}\b/,
  gitlab: /\bgl(?:pat|dt|rt|cbt|ptt|ft|soat)-[\w-]{20,}/,
  slack:
    /\bxox[abeoprs]-[\w-]{20,}|\bxapp-\d-[\w-]{20,}|hooks\.slack\.com\/services\/T\w{6,}\/B\w{6,}\/\w{16,}/,
  stripe: /\b[sr]k_(?:live|test)_[0-9A-Za-z]{24,}\b|\bwhsec_[0-9A-Za-z+/]{32}/,
  discord: /discord(?:app)?\.com\/api\/webhooks\/\d{17,20}\/[\w-]{60,}/,
  telegram: /\b\d{8,10}:AA[\w-]{33}(?![\w-])/,
  npm: /\bnpm_[0-9A-Za-z]{36}\b/,
  pypi: /\bpypi-AgE[\w-]{50,}/,
  sendgrid: /\bSG\.[\w-]{22}\.[\w-]{43}(?![\w-])/,
  mailgun: /\bkey-[0-9a-f]{32}\b/,
  digitalOcean: /\bdo[opr]_v1_[0-9a-f]{64}\b/,
  databricks: /\bdapi[0-9a-f]{32}\b/,
  shopify: /\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b/,
  hashicorp: /\bhv[sb]\.[\w-]{24,}/,
  azureStorage: /\bAccountKey=[0-9A-Za-z+/]{86}==/,
}

const ANY = new RegExp(
  Object.values(FORMS)
    .map(({ source }) => `(?:${source})`)
    .join('|'),
)
/** The private part of a JSON Web Key (RFC 7518 §6): `d` of an elliptic-curve or RSA key, or the `k` of a secret one. */
const JWK_SECRET = /"(?:d|k)"\s{0,9}:\s{0,9}"[\w-]{40,}"/
const JWK_TYPE = /"kty"\s{0,9}:/

/**
 * Whether a text holds what looks like a credential. Zero-width characters do not hide one.
 * @param text at most a few thousand characters; the time is linear in them
 */
export const holdsCredential = (text: string): boolean => {
  const plain = text.replace(/\p{Cf}/gu, '')
  return ANY.test(plain) || (JWK_TYPE.test(plain) && JWK_SECRET.test(plain))
}
