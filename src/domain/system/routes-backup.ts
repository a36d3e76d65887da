/** The backup of a running server. @module */
import Type from 'typebox'
import { Reply, route } from '../../http/route.ts'
import type { BackupsService } from './backup.ts'

interface Services {
  readonly backups: Pick<BackupsService, 'create'>
}

export const createBackup = route({
  name: 'createBackup',
  method: 'POST',
  path: '/v1/backup',
  auth: 'key',
  scope: 'admin',
  tag: 'System',
  summary: 'Back up the embedded database',
  description:
    'A ZIP archive with everything that was committed before the request, and a manifest with SHA-256 of each file, streamed. Nobody can read or write while the files are copied; the header `Assay-Backup` says for how many milliseconds that was, as JSON. It holds no key: keep `master.key` elsewhere. `npx assay backup` calls this and checks what it got. Returns 501 on PostgreSQL, which has its own tools.',
  produces: 'application/zip',
  queued: false,
  response: { 200: Type.String({ description: 'A ZIP archive.' }) },
  errors: ['not_implemented', 'conflict'],
  example: {},
  async handler(_, { backups }: Services) {
    const { body, filename, about } = await backups.create()
    return new Reply(200, body, {
      'Content-Disposition': `attachment; filename="${filename}"`,
      'Assay-Backup': JSON.stringify(about),
    })
  },
})
