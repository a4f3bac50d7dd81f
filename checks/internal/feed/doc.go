// Package feed says what commits have changed: to subscribers in this process, and through the database to other monitors.
//
// [Feed.Wrap] returns a store whose transactions publish what they save. [Feed.Publish] adds changes that a transaction
// does not name. Changes are merged while they wait, so that a slow subscriber delays nobody.
package feed
