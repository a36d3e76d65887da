/** What the search looks in. Empty in the sources: the build puts the index of all pages in the place of this. @module */
export const INDEX = ''
