// Package store is the contract between a monitor and its database. A program that embeds a monitor does not need it:
// it passes a store of package sqlstore to [github.com/rollcall-dev/rollcall/checks/monitor.New]. Read on to write a
// store of your own.
//
// Implement [Store] and its transaction, [Tx]. A store for large bodies is also a [BodyQueue]; the monitor finds that out
// by a type assertion. Then run the tests of package storetest on it until they pass:
//
//	func TestContract(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return openMyStore(t) })
//	}
package store
