/** The version of the agent trust routes, told in a header of each of their answers. @module */

export const FEATURE_VERSION = '1.2.0'

export const FEATURE_HEADERS = { 'X-Feature-Version': FEATURE_VERSION } as const
