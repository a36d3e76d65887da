/** Who signs passes: read at the start, and refused where keys and certificates don't belong together. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { loadConfig } from '../../src/config/config.ts'
import { ConfigError } from '../../src/config/config-error.ts'
import { createPassFolder, PASS_TEAM, PASS_TYPE, type PassFolder } from '../support/servers/certificates.ts'

describe('PASS_CERTIFICATES', () => {
  let folder: PassFolder
  let other: PassFolder
  before(() => {
    folder = createPassFolder()
    other = createPassFolder()
  })
  after(() => {
    folder.remove()
    other.remove()
  })
  afterEach(() => folder.configure({}))

  const load = (path = folder.path) => loadConfig({ DATA_DIR: 'memory', PASS_CERTIFICATES: path }).passSigners
  const refused = (rule: RegExp, path?: string) => {
    expect(() => load(path)).to.throw(ConfigError, /^PASS_CERTIFICATES must be a directory with passes\.json/)
    expect(() => load(path)).to.throw(rule)
  }

  it('names a directory or its file, with either or both', () => {
    for (const path of [folder.path, join(folder.path, 'passes.json')]) {
      const { apple, google } = load(path) ?? {}
      expect(apple).to.include({ passTypeIdentifier: PASS_TYPE, teamIdentifier: PASS_TEAM, icon: undefined })
      expect(apple?.validTo).to.be.a('number')
      expect(google).to.include({ issuerId: '3388000000012345678', keyId: 'k1' })
    }
    folder.configure({ google: null })
    expect(load()).to.include({ google: undefined })
    folder.configure({ apple: null })
    expect(load()).to.include({ apple: undefined })
    expect(loadConfig({ DATA_DIR: 'memory' }).passSigners).to.equal(undefined)
  })

  it('is refused at the start for what is not there or does not belong together', () => {
    refused(/ENOENT/, '/nowhere')
    folder.configure({ apple: null, google: null })
    refused(/neither apple nor google/)
    folder.configure({ apple: { certificate: 'missing.pem' } })
    refused(/missing\.pem/)
    folder.configure({ apple: { key: join(other.path, 'pass.key') } })
    refused(/key is not the one of its certificate/)
    folder.configure({ apple: { wwdr: join(other.path, 'wwdr.pem') } })
    refused(/not issued by the one in wwdr/)
    folder.configure({ apple: { passTypeIdentifier: 'pass.org.example.other' } })
    refused(/another passTypeIdentifier/)
    folder.configure({ apple: { teamIdentifier: 'ZZZZZ99999' } })
    refused(/another team/)
    folder.configure({ apple: { organizationName: undefined } })
    refused(/organizationName/)
    folder.configure({ google: { issuerId: 'abc' } })
    refused(/issuerId/)
    writeFileSync(join(folder.path, 'passes.json'), '{"apple":')
    refused(/JSON/)
  })

  it('repeats nothing of a key in what it says', () => {
    const file = join(folder.path, 'account.json')
    const account = {
      client_email: 'a@b',
      private_key_id: 'k',
      private_key: '-----BEGIN PRIVATE KEY-----hunter2',
    }
    writeFileSync(file, JSON.stringify(account))
    folder.configure({ google: { serviceAccount: 'account.json' } })
    const silent = () => {
      let said = ''
      try {
        load()
      } catch (error) {
        expect(error).to.be.instanceOf(ConfigError)
        said = String(error)
      }
      expect(said).to.match(/PASS_CERTIFICATES/)
      expect(said).not.to.match(/hunter2/)
    }
    silent()
    writeFileSync(file, '{"private_key": hunter2}')
    silent()
    writeFileSync(join(folder.path, 'passes.json'), '{"apple": {"keyPassphrase": hunter2}}')
    silent()
  })
})
