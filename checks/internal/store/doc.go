// Package store is the contract between a monitor and its database, of which package sqlstore is the only implementation.
// The tests of sqlstore hold the contract.
//
// Each consumer has an interface of its own, and another one for what it needs of a transaction. A method that several
// need is one method. Update passes the whole [Tx], and its callers pass that on as the interface of their package: an
// Update for each consumer would be a wrapper in the way of every ping.
//
// The following holds for all methods.
//
// # Values
//
//   - Times are UTC in whole microseconds. A zero time is saved as "none" and comes back as the zero time.
//   - Text comes back unchanged and is compared as a whole, byte for byte and with its case. It has no NUL.
//   - All fields of a filter that are set must match. A pointer to a zero value is set: it usually matches nothing.
//   - Whatever a method returns belongs to the caller. Whatever the caller passes belongs to the caller again when the
//     method, or Update around it, has returned: a store that keeps a slice or a map, such as the body of a ping, copies
//     it. The exception is the Check in a [Locked], which both share.
//
// # Order
//
//   - Checks come in the order in which they were added.
//   - Channels, status pages and API keys come in the order of their CreatedAt; so do [checks.Check.Channels], whatever their order
//     was when they were saved, and the members of groups.
//   - Projects come by name. Pings, flips and deliveries come with the newest first: the one saved last, also if the
//     clock was set back.
//
// # Errors
//
//   - A method for one thing returns [checks.ErrNotFound] if it does not exist. A method for several things returns an
//     empty list, also for an unknown project or check.
//   - When ctx has ended, a method soon fails, Update with an error that wraps the error of ctx. The store works on.
//   - Any error of the database wraps [ErrUnavailable], unless the database refuses the data: then it wraps [ErrRefused].
//     That of a method of Tx does at the latest when Update returns it. If the database is unavailable, the monitor fails a
//     whole batch of pings. After [ErrPartly] or [ErrRefused] it writes them one by one, so that only the bad ones fail. It is never
//     known that a ping is at fault itself, and not a constraint that somebody has added, so none is dropped for an [ErrRefused].
//     Where the database knows what is wrong with itself, the error wraps a [Fault].
//
// # Concurrency
//
// All methods of a store can be called at once, by many goroutines and by the monitors of several processes if they can
// share the database. Readers see only what was committed. Inside a transaction, all methods of Tx see what the
// transaction has written.
//
// A lock that a transaction takes lasts until its end. A transaction that gets a lock sees what the transactions that held it
// before have written. The order of locks is: the account, then checks, then deliveries. A store whose transactions run
// one after the other needs no other lock.
package store
