/** Alert rules and dashboards, and the metrics that they read. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { sharedApp } from '../support/app.ts'
import { promtool } from '../support/outside-programs.ts'
import { ROOT } from '../support/sources.ts'

const PROMETHEUS = join(ROOT, 'deploy/prometheus')
const DASHBOARDS = join(ROOT, 'deploy/grafana/dashboards')
/** Of Prometheus itself. */
const GIVEN = ['up']

interface Panel {
  readonly title: string
  readonly targets: readonly { readonly expr: string }[]
}
interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly panels: readonly Panel[]
}

const dashboards = readdirSync(DASHBOARDS).map(
  (name) => JSON.parse(readFileSync(join(DASHBOARDS, name), 'utf8')) as Dashboard,
)
const rules = readFileSync(join(PROMETHEUS, 'alerts.yaml'), 'utf8')

/** Names of metrics in PromQL: all of ours stand before a selector. */
const metricsIn = (text: string): string[] =>
  [...text.matchAll(/\b([a-z_][a-z0-9_]*)\{/g)].map(([, name = '']) => name)

describe('monitoring', () => {
  let metrics: string
  before(async () => {
    const app = await sharedApp()
    await app.request('GET', '/health')
    metrics = (await app.request<string>('GET', '/metrics')).body
  })

  it('alert rules are well formed and raise what their tests say', function () {
    const check = promtool(this, ['check', 'rules', join(PROMETHEUS, 'alerts.yaml')])
    expect(check.status, check.said).to.equal(0)
    const tests = promtool(this, ['test', 'rules', join(PROMETHEUS, 'alerts.test.yaml')])
    expect(tests.status, tests.said).to.equal(0)
    // Each is seen to be raised.
    const tested = readFileSync(join(PROMETHEUS, 'alerts.test.yaml'), 'utf8')
    const raised = new Set([...tested.matchAll(/alertname: (\w+)\n\s+exp_alerts/g)].map(([, name]) => name))
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name)
    expect(alerts.filter((name) => !raised.has(name))).to.deep.equal([])
    expect(alerts.length).to.be.greaterThan(6)
  })

  it('the configuration of Prometheus is well formed', function () {
    const file = join(PROMETHEUS, 'prometheus.yaml')
    const { status, said } = promtool(this, ['check', 'config', '--syntax-only', file])
    expect(status, said).to.equal(0)
  })

  it('GET /metrics is as Prometheus wants it', function () {
    const { status, said } = promtool(this, ['check', 'metrics'], metrics)
    expect(said.trim()).to.equal('')
    expect(status).to.equal(0)
  })

  it('every metric that rules and dashboards name is one of GET /metrics', () => {
    const types = [...metrics.matchAll(/^# TYPE (\S+) (\S+)$/gm)]
    const told = new Set(
      types.flatMap(([, name = '', type]) =>
        type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      ),
    )
    const expressions = dashboards.flatMap(({ panels }) =>
      panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    )
    const unknown = (text: string): string[] =>
      metricsIn(text).filter((name) => !told.has(name) && !GIVEN.includes(name))
    expect(expressions.flatMap(unknown)).to.deep.equal([])
    expect(unknown(rules)).to.deep.equal([])
    for (const expression of expressions) expect(metricsIn(expression), expression).to.not.deep.equal([])
  })

  it('dashboards have names and panels of their own, and queries that promtool reads', function () {
    expect(new Set(dashboards.map(({ uid }) => uid)).size).to.equal(dashboards.length)
    const queries: string[] = []
    for (const { panels, title } of dashboards) {
      expect(new Set(panels.map((panel) => panel.title)).size, title).to.equal(panels.length)
      for (const { targets } of panels) queries.push(...targets.map(({ expr }) => expr))
    }
    // What Grafana puts in.
    const rulesOf = queries.map((expr, i) => ({
      record: `q${i}`,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
    }))
    const folder = mkdtempSync(join(tmpdir(), 'assay-dashboards-'))
    try {
      const file = join(folder, 'rules.yaml')
      writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboards', rules: rulesOf }] }))
      const { status, said } = promtool(this, ['check', 'rules', '--lint=none', file])
      expect(status, said).to.equal(0)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
