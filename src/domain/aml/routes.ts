/** Routes of screening, and of the lists in the console. @module */
import { route } from '../../http/route.ts'
import type { WatchListsService } from './console.ts'
import { AmlCheck, AmlResults } from './schemas.ts'
import { ChangeLists, WatchLists } from './schemas-lists.ts'
import type { AmlService } from './service.ts'

interface Services {
  readonly aml: AmlService
  readonly watchLists: WatchListsService
}

const tag = 'AML'

const checkAml = route({
  name: 'checkAml',
  method: 'POST',
  path: '/api/aml/check',
  auth: 'key',
  scope: 'aml',
  tag,
  summary: 'Screen somebody against sanctions and watch lists',
  description:
    'One result for each type. A `hit` requires a matching name (score 95 or more) and a matching date of birth, country or number; a name that is only similar (from 85), or that matches alone, is `review`. Without a name the result is `review`. A type for which no list is loaded, or a configured one never was, returns 503, never clear.',
  body: AmlCheck,
  response: { 200: AmlResults },
  errors: ['lists_unavailable'],
  example: {
    body: {
      userId: 'user-81',
      name: 'Ivan Testov',
      dateOfBirth: '1961-04-12',
      country: 'RU',
      identifiers: [{ type: 'passport', value: 'XX0012345' }],
    },
  },
  handler: ({ caller, body }, { aml }: Services) => aml.check(caller, body),
})

const listWatchLists = route({
  name: 'listWatchLists',
  method: 'GET',
  path: '/console/api/lists',
  auth: 'console',
  tag,
  summary: 'The watch lists that are loaded',
  response: { 200: WatchLists },
  errors: [],
  handler: (_request, { watchLists }: Services) => watchLists.describe(),
})

const changeWatchLists = route({
  name: 'changeWatchLists',
  method: 'POST',
  path: '/console/api/lists',
  auth: 'console',
  scope: 'admin',
  tag,
  summary: 'Load, add or remove watch lists',
  description:
    'Applies to all organisations, on every server within seconds, and adds an entry of type `attest` to the log. On `reload`, a list whose files have errors, or that lost more than half of its entries, stays as it was and is named in `problems`; the others change. An upload with errors changes nothing, and the error names file and line. Lists larger than the 1 MiB limit of a body must be loaded through AML_LISTS.',
  body: ChangeLists,
  bodyLimit: 'batch',
  response: { 200: WatchLists },
  errors: ['list_invalid', 'not_found', 'conflict'],
  // The commit knows the version alone; what the lists are then is read behind it.
  commitsInSteps: true,
  example: {
    body: {
      action: 'upload',
      listId: 'own-watchlist',
      format: 'opensanctions',
      checkTypes: ['watchlist'],
      files: [
        {
          name: 'own.ftm.json',
          content: '{"id":"own-1","schema":"Person","properties":{"name":["Max Probemann"]}}',
        },
      ],
    },
  },
  handler: ({ caller, body }, { watchLists }: Services) => watchLists.change(caller, body),
})

export const amlRoutes = [checkAml, listWatchLists, changeWatchLists]
