/**
 * A small list in the form of OpenSanctions, so that a fresh installation can be tried. Everybody on it is made up; real
 * lists are loaded from AML_LISTS or in the console, and replace it.
 * @module
 */

type Properties = Readonly<Record<string, readonly string[]>>

const entity = (id: string, schema: 'Person' | 'Company' | 'Organization', properties: Properties): string =>
  JSON.stringify({ id, schema, caption: properties.name?.[0], properties })

const ENTITIES = [
  entity('sample-sanctions-1', 'Person', {
    name: ['Ivan Arkadyevich Testov', 'Иван Аркадьевич Тестов'],
    alias: ['Vanya Testov'],
    birthDate: ['1961-04-12'],
    nationality: ['ru'],
    passportNumber: ['XX 0012345'],
    topics: ['sanction'],
  }),
  entity('sample-sanctions-2', 'Person', {
    name: ['Mohammed Yusuf al-Namudhaji', 'محمد يوسف النموذجي'],
    weakAlias: ['Abu Namudhaj'],
    birthDate: ['1974'],
    nationality: ['sy'],
    topics: ['sanction'],
  }),
  entity('sample-sanctions-3', 'Company', {
    name: ['Fiktiv Shipping & Trading Co. Ltd.'],
    alias: ['FST Lines'],
    country: ['pa'],
    registrationNumber: ['PA-9-000111-222'],
    topics: ['sanction'],
  }),
  entity('sample-sanctions-4', 'Person', {
    name: ['Jang Bogi', '장보기'],
    birthDate: ['1958-11-02'],
    nationality: ['kp'],
    topics: ['sanction'],
  }),
  entity('sample-pep-1', 'Person', {
    name: ['Eleonora Musterfrau-Beispiel'],
    birthDate: ['1969-07-30'],
    country: ['at'],
    topics: ['role.pep'],
  }),
  entity('sample-pep-2', 'Person', {
    name: ['Tomás Ejemplo Prueba'],
    birthDate: ['1955-01'],
    country: ['es'],
    topics: ['role.pep'],
  }),
  entity('sample-pep-3', 'Person', {
    name: ['Carla Ejemplo Muestra'],
    country: ['es'],
    topics: ['role.rca'],
  }),
  entity('sample-watchlist-1', 'Person', {
    name: ['Dmitri Obraztsov'],
    birthDate: ['1983-09-19'],
    nationality: ['ua'],
    topics: ['wanted'],
  }),
  entity('sample-watchlist-2', 'Company', {
    name: ['Placeholder Construction GmbH'],
    country: ['de'],
    topics: ['debarment'],
  }),
  entity('sample-adverse-media-1', 'Person', {
    name: ['Giulia Esempio'],
    birthDate: ['1990-03-08'],
    country: ['it'],
    topics: ['crime.fraud'],
  }),
  entity('sample-adverse-media-2', 'Organization', {
    name: ['Exemple Finance Réunis SA'],
    country: ['lu'],
    topics: ['crime.fin'],
  }),
]

export const SAMPLE_LIST_ID = 'sample'
/** It never changes, so that its age says nothing. */
export const SAMPLE_PUBLISHED_AT = Date.UTC(2026, 0, 1)
export const SAMPLE_FILE = 'sample.ftm.json'
/** JSON lines. */
export const SAMPLE_TEXT = `${ENTITIES.join('\n')}\n`
