// Package feed says what commits have changed: to subscribers in this process, and through the database to other monitors.
//
// [Feed.Wrap] returns a store whose transactions publish what they save. [Feed.Publish] adds changes that a transaction
// does not name: deliveries do not name their check, so the courier passes theirs itself. Changes are merged while they wait, so that a
// slow subscriber delays nobody.
//
// store.go notes what each transaction changes ([store.Change], and what becomes of checks), and publishes the notes after the commit. A
// transaction after which less may keep alerts back ends with the release of those that wait.
//
// announce.go exchanges changes with other processes, after the commit and never in a ping's transaction, because NOTIFY takes a lock. On
// SQLite PRAGMA data_version of the only connection that writes changes only when another connection commits.
package feed
