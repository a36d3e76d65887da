/** Routes of the setting of reviews. @module */
import { route } from '../../http/route.ts'
import { ReviewSettings } from './schemas.ts'
import type { ReviewsService } from './service.ts'

interface Services {
  readonly reviews: ReviewsService
}

const tag = 'Console'
const path = '/console/api/review-settings'

const getReviewSettings = route({
  name: 'getReviewSettings',
  method: 'GET',
  path,
  auth: 'console',
  scope: 'audit',
  tag,
  summary: 'Whether decisions on cases need a second reviewer',
  response: { 200: ReviewSettings },
  errors: [],
  handler: ({ caller }, { reviews }: Services) => reviews.settings(caller),
})

const changeReviewSettings = route({
  name: 'changeReviewSettings',
  method: 'PUT',
  path,
  auth: 'console',
  scope: 'keys',
  tag,
  summary: 'Ask for a second reviewer, or no more',
  description:
    'With one, a decision on a case of KYC or AML waits as `proposal` until the account of another member decides the same; another verdict takes its place. For owners, and recorded in the log.',
  body: ReviewSettings,
  response: { 200: ReviewSettings },
  errors: [],
  example: { body: { secondReviewer: false } },
  handler: ({ caller, body }, { reviews }: Services) => reviews.change(caller, body),
})

export const reviewRoutes = [getReviewSettings, changeReviewSettings]
