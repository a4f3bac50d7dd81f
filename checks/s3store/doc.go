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
//	err = mon.Run(ctx) // moves large bodies to the bucket
//
// The bucket must exist. The key needs permission to get, put and delete objects (s3:GetObject, s3:PutObject,
// s3:DeleteObject). It also needs permission to list the bucket (s3:ListBucket); without it, S3 reports a missing object
// as forbidden. Turn versioning off, or let old versions expire, so that removed bodies are gone.
// Nothing else should expire or change objects.
//
// # Failures
//
// Each call is one request, bounded by [Config.Timeout], without retries. Each write has the SHA-256 and the MD5 of the body, with
// which the storage compares what it received. Package monitor retries writes, and keeps a body in the database until it has
// read the object.
//
// An unresponsive storage would delay every read, so reads have a circuit breaker. After [Config.FailAfter] failed reads
// in a row, reads fail at once for [Config.Cooldown]. Then one read goes through as a probe. If it succeeds, the others
// go through again; if it fails, reads fail at once for another Cooldown.
package s3store
