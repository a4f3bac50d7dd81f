// Package s3store keeps the large bodies of pings in S3-compatible object storage. Its [Store] is the body store of
// package monitor:
//
//	bodies, err := s3store.New(s3store.Config{
//		Endpoint:  "https://s3.example.org",
//		Bucket:    "rollcall",
//		AccessKey: accessKey,
//		SecretKey: secretKey,
//	})
//	mon, err := monitor.New(store, &monitor.Config{Bodies: bodies})
//	err = mon.Run(ctx) // moves large bodies as they come in
//
// The bucket must exist. The key needs the permissions to get, put and delete objects (s3:GetObject, s3:PutObject and
// s3:DeleteObject) and, so that an object that is missing is told from one that is refused, to list the bucket
// (s3:ListBucket). Versioning should be off, or old versions expire, for what is removed to be gone; nothing else
// should expire or change objects.
//
// # When the storage fails
//
// Each call is one request, bounded by [Config.Timeout], and nothing is retried here: package monitor does that for
// what it writes, and leaves the body in the database until the storage has acknowledged it.
//
// Reads would each wait for a storage that does not answer. After [Config.FailAfter] of them have failed in a row,
// further ones fail at once for [Config.Cooldown]. Then one goes through as a probe: if it succeeds, all do again; if
// it fails, the others fail at once for another such time.
package s3store
