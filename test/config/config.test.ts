/** The environment: defaults, rules, and secrets that are generated once and kept. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { ENV_EXAMPLE, envExample, withSettings } from '../../src/bin/docs/settings.ts'
import { loadConfig } from '../../src/config/config.ts'
import { ConfigError } from '../../src/config/config-error.ts'
import { keepSecret, readSecret } from '../../src/config/secrets.ts'
import { VARIABLES } from '../../src/config/variables.ts'
import { createCertificates } from '../support/servers/certificates.ts'
import { createWitness } from '../support/witnesses.ts'

const MASTER_KEY = 'ab'.repeat(32)

const memory = { DATA_DIR: 'memory' }

describe('configuration', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'assay-config-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  it('is described by a schema, which the service takes for granted', () => {
    const ajv = new Ajv2020({ logger: false })
    expect(ajv.validateSchema(VARIABLES), ajv.errorsText()).to.equal(true)
    expect(ajv.validateSchema({ ...VARIABLES, required: 'PORT' })).to.equal(false)
  })

  it('has a default for everything', () => {
    const { masterKey, ...config } = loadConfig(memory)
    expect(masterKey).to.have.length(32)
    expect(config).to.deep.equal({
      port: 8080,
      host: '127.0.0.1',
      baseUrl: 'http://127.0.0.1:8080',
      dataDir: 'memory',
      databaseUrl: undefined,
      migrate: true,
      redisUrl: undefined,
      logShards: 1,
      adminApiKey: undefined,
      customDomainCname: '127.0.0.1',
      metricsToken: undefined,
      oidc: undefined,
      telemetry: undefined,
      rateLimitPerMinute: 100,
      rateLimits: true,
      chatLimits: {
        postsPerMinute: 120,
        postsPerHour: 3000,
        keyPostsPerMinute: 300,
        readsPerMinute: 1200,
        namesPerDay: 5,
      },
      streamLimits: { perAddress: 100, total: 10_000 },
      postingMode: 'open',
      chatTrustedIssuers: ['default'],
      securityContacts: [],
      trustProxy: [],
      egressAllowCidrs: [],
      egressCa: undefined,
      egressOpenProxy: false,
      eventLogBytes: 2 ** 30,
      webhookPausesMs: [1000, 10_000],
      webhookBacklog: 100_000,
      dnsServers: [],
      amlLists: 'sample',
      proverThreads: Math.max(1, availableParallelism() - 1),
      proverTableMb: 8,
      circuitsDir: undefined,
      credentialCertificate: undefined,
      passSigners: undefined,
      witnessPolicy: undefined,
      witnessIntervalMs: 10_000,
      witnessMaxAgeMs: 600_000,
      kycProviders: {},
      logLevel: 'info',
      checkResponses: false,
    })
  })

  it('takes the scheme of a URL in any case', () => {
    const urls = { DATABASE_URL: 'POSTGRES://db/assay', REDIS_URL: 'Rediss://cache' }
    expect(loadConfig({ ...memory, MASTER_KEY, ...urls })).to.include({
      databaseUrl: urls.DATABASE_URL,
      redisUrl: urls.REDIS_URL,
    })
  })

  it('takes a HOST with a zone, which no URL can have, only beside a BASE_URL', () => {
    const env = { ...memory, HOST: 'fe80::1%eth0' }
    expect(() => loadConfig(env)).to.throw(ConfigError, /^BASE_URL must be set when HOST has a zone/)
    expect(loadConfig({ ...env, BASE_URL: 'https://assay.example' })).to.include({
      host: env.HOST,
      customDomainCname: 'assay.example',
    })
  })

  it('takes an identity provider whole, over TLS or on this machine', () => {
    const faultsOf = (env: Record<string, string>): string => {
      try {
        loadConfig({ ...memory, ...env })
        return ''
      } catch (error) {
        return String(error)
      }
    }
    expect(faultsOf({ OIDC_ISSUER: 'https://login.example' }))
      .to.include('OIDC_CLIENT_ID')
      .and.to.include('OIDC_CLIENT_SECRET')
    const client = { OIDC_CLIENT_ID: 'assay', OIDC_CLIENT_SECRET: 'client-secret' }
    expect(faultsOf(client)).to.include('OIDC_ISSUER must be set when OIDC_CLIENT_ID is set')
    expect(faultsOf({ OIDC_CLIENT_SECRET: 'client-secret' }))
      .to.include('OIDC_ISSUER must be set')
      .and.to.include('OIDC_CLIENT_ID must be set')
      .and.to.not.include('client-secret')
    expect(faultsOf({ OIDC_ISSUER: 'http://127.0.0.1:4000', ...client })).to.equal('')
    for (const OIDC_ISSUER of [
      'http://login.example',
      'https://u:p@login.example',
      'https://login.example?x',
      'login',
    ])
      expect(faultsOf({ OIDC_ISSUER, ...client }), OIDC_ISSUER)
        .to.include('OIDC_ISSUER')
        .and.to.not.include('client-secret')
  })

  it('takes a policy of witnesses only if those that it says where to ask can meet it', () => {
    const [a, b] = [createWitness('a.example').key, createWitness('b.example').key]
    const file = join(folder, 'policy')
    const read = (policy: string, env: Record<string, string> = {}) => {
      writeFileSync(file, policy)
      return loadConfig({ ...memory, WITNESS_POLICY: file, ...env })
    }
    const both = `witness A ${a} https://a.example/w/\nwitness B ${b} http://b.example\ngroup G all A B\nquorum G`
    expect(read(both).witnessPolicy?.witnesses.map(({ url }) => url)).to.deep.equal([
      'https://a.example/w',
      'http://b.example',
    ])
    for (const [policy, why] of [
      [both.replace(' http://b.example', ''), 'does not say where they are'],
      [both.replace('quorum G', 'quorum none'), 'nobody would be asked'],
      [both.replace('http://', 'ftp://'), 'Line 2'],
      [`${a}\n${b}`, 'does not say where they are'],
      ['witness', 'Line 1'],
    ] as const)
      expect(() => read(policy), policy).to.throw(ConfigError, why)
    expect(() => loadConfig({ ...memory, WITNESS_POLICY: join(folder, 'none') })).to.throw(
      ConfigError,
      'ENOENT',
    )
    expect(() => read(both, { WITNESS_INTERVAL_SECONDS: '60', WITNESS_MAX_AGE_SECONDS: '100' })).to.throw(
      ConfigError,
      'at least twice',
    )
  })

  it('reads every variable', () => {
    const config = loadConfig({
      PORT: '9000',
      HOST: '::1',
      BASE_URL: 'https://assay.example/',
      DATA_DIR: folder,
      DATABASE_URL: 'postgres://u:p@db/assay',
      MIGRATE: 'off',
      REDIS_URL: 'redis://cache:6379/2',
      LOG_SHARDS: '4',
      MASTER_KEY,
      ADMIN_API_KEY: 'sixteen-characte',
      CUSTOM_DOMAIN_CNAME: 'edge.assay.example',
      METRICS_TOKEN: 'scrape',
      OIDC_ISSUER: 'https://login.example/realm',
      OIDC_CLIENT_ID: 'assay',
      OIDC_CLIENT_SECRET: 'client-secret',
      OIDC_NAME: 'Example',
      RATE_LIMIT_PER_MINUTE: '250',
      RATE_LIMITS: 'off',
      SECURITY_CONTACT: 'mailto:security@assay.example, https://assay.example/security',
      TRUST_PROXY: '10.0.0.0/8, 192.0.2.1,2001:db8::/32',
      EGRESS_ALLOW_CIDRS: '127.0.0.1, fd00::/8',
      EGRESS_OPEN_PROXY: 'on',
      DNS_SERVERS: '192.0.2.1, 192.0.2.1:5353, 2001:db8::1, [2001:db8::1]:5353',
      PROVER_THREADS: '3',
      PROVER_TABLE_MB: '4',
      CIRCUITS_DIR: '/etc/assay/circuits',
      EVENT_LOG_BYTES: '2097152',
      WEBHOOK_PAUSES_MS: '20,200',
      WEBHOOK_BACKLOG: '5000',
      CHAT_LIMITS: '{"postsPerMinute": 7}',
      STREAM_LIMITS: '{"perAddress": 2, "total": 3}',
      POSTING_MODE: 'verified_only',
      CHAT_TRUSTED_ISSUERS: 'default, org_01arz3ndektsv4rrffq69g5fav',
      AML_LISTS: '/srv/lists',
      KYC_PROVIDERS: '{"acme": {"url": "https://kyc.example/v1", "apiKey": "secret-key"}}',
      LOG_LEVEL: 'debug',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example/otlp',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
      OTEL_METRIC_EXPORT_INTERVAL: '15000',
      WITNESS_INTERVAL_SECONDS: '3',
      WITNESS_MAX_AGE_SECONDS: '40',
    })
    expect({ ...config, masterKey: config.masterKey.toString('hex') }).to.deep.equal({
      port: 9000,
      host: '::1',
      baseUrl: 'https://assay.example',
      dataDir: folder,
      databaseUrl: 'postgres://u:p@db/assay',
      migrate: false,
      redisUrl: 'redis://cache:6379/2',
      logShards: 4,
      masterKey: MASTER_KEY,
      adminApiKey: 'sixteen-characte',
      amlLists: { directory: '/srv/lists' },
      customDomainCname: 'edge.assay.example',
      metricsToken: 'scrape',
      oidc: {
        issuer: 'https://login.example/realm',
        clientId: 'assay',
        clientSecret: 'client-secret',
        name: 'Example',
      },
      telemetry: {
        endpoint: 'https://collector.example/otlp',
        sampleRatio: 0.25,
        metricsIntervalMs: 15_000,
      },
      rateLimitPerMinute: 250,
      rateLimits: false,
      chatLimits: {
        postsPerMinute: 7,
        postsPerHour: 3000,
        keyPostsPerMinute: 300,
        readsPerMinute: 1200,
        namesPerDay: 5,
      },
      streamLimits: { perAddress: 2, total: 3 },
      postingMode: 'verified_only',
      chatTrustedIssuers: ['default', 'org_01arz3ndektsv4rrffq69g5fav'],
      securityContacts: ['mailto:security@assay.example', 'https://assay.example/security'],
      trustProxy: ['10.0.0.0/8', '192.0.2.1/32', '2001:db8::/32'],
      egressAllowCidrs: ['127.0.0.1/32', 'fd00::/8'],
      egressCa: undefined,
      egressOpenProxy: true,
      dnsServers: ['192.0.2.1:53', '192.0.2.1:5353', '[2001:db8::1]:53', '[2001:db8::1]:5353'],
      proverThreads: 3,
      proverTableMb: 4,
      circuitsDir: '/etc/assay/circuits',
      credentialCertificate: undefined,
      passSigners: undefined,
      eventLogBytes: 2_097_152,
      witnessPolicy: undefined,
      witnessIntervalMs: 3000,
      witnessMaxAgeMs: 40_000,
      webhookPausesMs: [20, 200],
      webhookBacklog: 5000,
      kycProviders: { acme: { url: 'https://kyc.example/v1', apiKey: 'secret-key' } },
      logLevel: 'debug',
      checkResponses: false,
    })
  })

  it('is frozen', () => {
    const config = loadConfig(memory)
    expect(Object.isFrozen(config)).to.equal(true)
    expect(Object.isFrozen(config.trustProxy)).to.equal(true)
  })

  it('takes an empty variable for an unset one', () => {
    const env = { ...memory, PORT: '', BASE_URL: '', DATABASE_URL: '', MASTER_KEY: '', ADMIN_API_KEY: '' }
    expect(loadConfig(env)).to.include({ port: 8080, databaseUrl: undefined, adminApiKey: undefined })
  })

  const broken: readonly (readonly [variable: string, value: string, rule: string])[] = [
    ['PORT', '65536', '0 to 65535'],
    ['PORT', '80a', 'whole number'],
    ['PORT', '-1', 'whole number'],
    ['HOST', 'two words', 'IP address or a host name'],
    ['HOST', '10.0.0.256', 'IP address or a host name'],
    ['HOST', '10.0.0.1.2', 'IP address or a host name'],
    ['BASE_URL', 'assay.example', 'http://'],
    ['BASE_URL', 'https://assay.example/path', 'origin'],
    ['BASE_URL', 'ftp://assay.example', 'http://'],
    ['DATABASE_URL', 'mysql://db/assay', 'postgres://'],
    ['DATABASE_URL', 'postgres:ada:hunter2@db/assay', 'postgres://'],
    ['REDIS_URL', 'http://cache', 'redis://'],
    ['REDIS_URL', 'rediss:hunter2@cache', 'rediss://'],
    ['MASTER_KEY', 'ab'.repeat(31), '32 bytes'],
    ['MASTER_KEY', 'zz'.repeat(32), '32 bytes'],
    ['ADMIN_API_KEY', 'fifteen-charact', '16 to 128'],
    ['ADMIN_API_KEY', 'x'.repeat(129), '16 to 128'],
    ['ADMIN_API_KEY', 'with spaces in between', '16 to 128'],
    ['CUSTOM_DOMAIN_CNAME', 'http://x', 'host name'],
    ['METRICS_TOKEN', 'two words', 'visible ASCII'],
    ['RATE_LIMIT_PER_MINUTE', '0', '1 to'],
    ['RATE_LIMITS', 'no', 'on, off'],
    ['SECURITY_CONTACT', 'security@assay.example', 'mailto:'],
    ['SECURITY_CONTACT', 'http://assay.example', 'https://'],
    ['SECURITY_CONTACT', 'mailto:a@assay.example\nExpires: 2099-01-01T00:00:00Z', 'mailto:'],
    ['TRUST_PROXY', '10.0.0.0/33', 'CIDR'],
    ['TRUST_PROXY', 'localhost', 'CIDR'],
    ['EGRESS_ALLOW_CIDRS', '10.0.0.0/8,intranet', 'CIDR'],
    ['EGRESS_CA_FILE', '/nowhere/ca.pem', 'PEM'],
    ['EGRESS_OPEN_PROXY', 'yes', 'on, off'],
    ['DNS_SERVERS', 'dns.example:53', 'addresses'],
    ['DNS_SERVERS', '192.0.2.1:0', 'addresses'],
    ['DNS_SERVERS', '192.0.2.1:65536', 'addresses'],
    ['DNS_SERVERS', '[192.0.2.1]:53', 'addresses'],
    ['DNS_SERVERS', '192.0.2.1,', 'addresses'],
    ['PROVER_THREADS', '0', '1 to'],
    ['PROVER_THREADS', 'all', 'whole number'],
    ['PROVER_TABLE_MB', '1025', '0 to'],
    ['EVENT_LOG_BYTES', '1048575', '1048576 to'],
    ['WEBHOOK_PAUSES_MS', '1000', 'two growing numbers'],
    ['WEBHOOK_PAUSES_MS', '1000,500', 'two growing numbers'],
    ['WEBHOOK_BACKLOG', '999', '1000 to'],
    ['CHAT_LIMITS', '120', 'JSON object'],
    ['CHAT_LIMITS', '{"posts": 1}', 'postsPerMinute, postsPerHour'],
    ['CHAT_LIMITS', '{"postsPerHour": 1.5}', 'whole numbers from 1'],
    ['STREAM_LIMITS', '{"total": 0}', 'whole numbers from 1'],
    ['STREAM_LIMITS', '{"total":', 'JSON object'],
    ['KYC_PROVIDERS', '{"acme":', 'JSON object'],
    ['KYC_PROVIDERS', '[]', 'JSON object'],
    ['KYC_PROVIDERS', '{"acme": {"url": "http://kyc.example", "apiKey": "k"}}', 'https://'],
    ['KYC_PROVIDERS', '{"acme": {"url": "https://u:p@kyc.example", "apiKey": "k"}}', 'https://'],
    ['KYC_PROVIDERS', '{"acme": {"url": "https://kyc.example"}}', 'apiKey'],
    ['KYC_PROVIDERS', '{"acme": {"url": "https://kyc.example", "apiKey": "two words"}}', 'apiKey'],
    ['KYC_PROVIDERS', '{"acme": {"url": "https://kyc.example", "apiKey": "k", "ca": ""}}', 'JSON object'],
    ['KYC_PROVIDERS', '{"internal": {"url": "https://kyc.example", "apiKey": "k"}}', 'not internal'],
    ['KYC_PROVIDERS', '{"Acme": {"url": "https://kyc.example", "apiKey": "k"}}', 'a-z'],
    ['POSTING_MODE', 'closed', 'open, paused, verified_only'],
    ['CHAT_TRUSTED_ISSUERS', 'somebody', 'must be ids of organisations'],
    ['CHAT_TRUSTED_ISSUERS', 'default,org_1', 'must be ids of organisations'],
    // No id that the service gives is in capitals, so it would trust nobody.
    ['CHAT_TRUSTED_ISSUERS', 'org_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'must be ids of organisations'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'grpc://collector:4317', 'http:// or https://'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'https://user:secret@collector.example', 'without user'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5', '0 to 1'],
    ['OTEL_METRIC_EXPORT_INTERVAL', '10', '1000'],
    ['LOG_LEVEL', 'loud', 'fatal, error'],
  ]
  for (const [variable, value, rule] of broken) {
    it(`refuses ${variable}=${value.slice(0, 24)} by name and rule`, () => {
      const load = () => loadConfig({ ...memory, [variable]: value })
      expect(load).to.throw(ConfigError, new RegExp(`^${variable} .*${rule}`))
    })
  }

  it('reads the certificates of EGRESS_CA_FILE at start, and nothing else that stands in it', () => {
    const { ca, key } = createCertificates({ names: ['localhost'] })
    const file = join(folder, 'ca.pem')
    writeFileSync(file, `a comment\n${key}${ca}${ca}`)
    expect(loadConfig({ ...memory, EGRESS_CA_FILE: file }).egressCa).to.equal(ca + ca)
    for (const text of ['', key, ca.replace(/[A-Z]/g, 'A')]) {
      writeFileSync(file, text)
      expect(() => loadConfig({ ...memory, EGRESS_CA_FILE: file })).to.throw(
        ConfigError,
        /^EGRESS_CA_FILE .*PEM/,
      )
    }
  })

  it('repeats no secret in a message', () => {
    const secret = 'not-hexadecimal-but-secret'
    expect(() => loadConfig({ ...memory, MASTER_KEY: secret }))
      .to.throw(ConfigError)
      .not.match(/but-secret/)
    expect(() => loadConfig({ ...memory, KYC_PROVIDERS: `{"acme": {"apiKey": "${secret}"}}` }))
      .to.throw(ConfigError)
      .not.match(/but-secret/)
    const url = 'mysql://user:hunter2@db/assay'
    expect(() => loadConfig({ ...memory, DATABASE_URL: url }))
      .to.throw(ConfigError)
      .not.match(/hunter2/)
  })

  it('tells of every variable that breaks its rule at once, and what was given unless it is secret', () => {
    const env = {
      ...memory,
      PORT: '80a',
      LOG_LEVEL: 'loud\n',
      ADMIN_API_KEY: 'hunter2',
      EGRESS_CA_FILE: '/nowhere/ca.pem',
      DATABASE_URL: 'postgres://db/assay',
    }
    let message = ''
    try {
      loadConfig(env)
    } catch (error) {
      message = error instanceof ConfigError ? error.message : ''
    }
    expect(message.split('\n').map((line) => line.split(' ', 1)[0])).to.deep.equal([
      'PORT',
      'LOG_LEVEL',
      'ADMIN_API_KEY',
      'EGRESS_CA_FILE',
      'MASTER_KEY',
    ])
    expect(message).to.include('PORT must be a whole number from 0 to 65535, not "80a"\n')
    expect(message).to.include('silent, not "loud\\n"\n').and.not.include('hunter2')
  })

  it('refuses a shared database without a master key, and says so', () => {
    expect(() => loadConfig({ ...memory, DATABASE_URL: 'postgres://db/assay' })).to.throw(
      ConfigError,
      /^MASTER_KEY must be set when DATABASE_URL is set/,
    )
  })

  it('generates nothing for an environment that it refuses', () => {
    expect(() => loadConfig({ DATA_DIR: folder, LOG_LEVEL: 'loud' })).to.throw(ConfigError)
    expect(readdirSync(folder)).to.deep.equal([])
  })

  it('generates a master key once, keeps it readable to its owner alone, and finds it again', () => {
    const first = loadConfig({ DATA_DIR: folder }).masterKey
    const file = join(folder, 'master.key')
    expect(statSync(file).mode & 0o777).to.equal(0o600)
    expect(readFileSync(file, 'utf8').trim()).to.equal(first.toString('hex'))
    expect(loadConfig({ DATA_DIR: folder }).masterKey.equals(first)).to.equal(true)
    expect(readdirSync(folder)).to.deep.equal(['master.key'])
  })

  it('makes another master key for every process that keeps nothing', () => {
    expect(loadConfig(memory).masterKey.equals(loadConfig(memory).masterKey)).to.equal(false)
  })

  it('refuses a damaged master key instead of replacing it', () => {
    writeFileSync(join(folder, 'master.key'), 'damaged\n')
    expect(() => loadConfig({ DATA_DIR: folder })).to.throw(ConfigError, /^DATA_DIR .*master\.key/)
  })

  it('refuses an empty master key instead of working under one that is kept nowhere', () => {
    writeFileSync(join(folder, 'master.key'), '')
    expect(() => loadConfig({ DATA_DIR: folder })).to.throw(
      ConfigError,
      /^DATA_DIR holds an empty master\.key/,
    )
    expect(readdirSync(folder)).to.deep.equal(['master.key'])
  })

  it('refuses an admin key that would be taken for a terminal token', () => {
    expect(() => loadConfig({ ...memory, ADMIN_API_KEY: 'mt_0123456789abcdef' })).to.throw(
      ConfigError,
      /^ADMIN_API_KEY .*mt_/,
    )
  })

  it('keeps the first of two secrets of one name', () => {
    expect(keepSecret(folder, 'admin.key', 'first')).to.equal('first')
    expect(keepSecret(folder, 'admin.key', 'second')).to.equal('first')
    expect(readSecret(folder, 'admin.key')).to.equal('first')
    expect(readdirSync(folder)).to.deep.equal(['admin.key'])
  })

  it('stands in README.md and .env.example as the schemas say it (npm run docs:settings)', () => {
    const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
    expect(withSettings(readme)).to.equal(readme)
    expect(readFileSync(ENV_EXAMPLE, 'utf8')).to.equal(envExample())
  })

  it('of .env.example sets nothing as it is, and holds with every # taken away that stands before a value', () => {
    const text = envExample()
    expect(text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))).to.deep.equal([])
    const shown = [...text.matchAll(/^#([A-Z_]+)=(.+)$/gm)].map(([, name = '', value = '']) => [name, value])
    expect(shown.length).to.be.greaterThan(10)
    const { masterKey, ...config } = loadConfig({ ...Object.fromEntries(shown), ...memory })
    const { masterKey: _, ...usual } = loadConfig(memory)
    expect(config).to.deep.equal(usual)
  })

  it('names DATA_DIR when it can not be written to', () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    expect(() => loadConfig({ DATA_DIR: file })).to.throw(ConfigError, /^DATA_DIR /)
  })
})
