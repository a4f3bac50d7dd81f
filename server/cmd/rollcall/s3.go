package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rollcall-dev/rollcall/checks/s3store"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// s3Flags configure object storage for large ping bodies. The env tags are needed because kong would derive S_3.
type s3Flags struct {
	Endpoint  console.Address `env:"ROLLCALL_S3_ENDPOINT" group:"Object storage:" placeholder:"URL" help:"URL of the S3-compatible service for large ping bodies, without the bucket. By default all bodies stay in the database."`
	Bucket    string          `env:"ROLLCALL_S3_BUCKET" group:"Object storage:" placeholder:"NAME" help:"Name of the bucket. It must exist."`
	Region    string          `env:"ROLLCALL_S3_REGION" default:"us-east-1" group:"Object storage:" placeholder:"NAME" help:"Region of the bucket."`
	AccessKey string          `env:"ROLLCALL_S3_ACCESS_KEY" secret:"" group:"Object storage:" placeholder:"TEXT" help:"Access key that may list the bucket and get, put and delete its objects."`
	SecretKey string          `env:"ROLLCALL_S3_SECRET_KEY" secret:"" group:"Object storage:" placeholder:"TEXT" help:"Secret key of the access key."`
	Threshold int64           `env:"ROLLCALL_S3_THRESHOLD" default:"100" group:"Object storage:" placeholder:"BYTES" help:"Move bodies larger than this, at least 1."`
}

// open returns the store that the flags configure, or nil for none.
func (f *s3Flags) open() (*s3store.Store, error) {
	if err := console.AtLeast("--s3-threshold", f.Threshold, 1); err != nil {
		return nil, err
	}
	if f.Endpoint == "" && f.Bucket == "" && f.AccessKey == "" && f.SecretKey == "" {
		return nil, nil
	}
	for _, flag := range []struct{ name, value string }{
		{"--s3-endpoint", string(f.Endpoint)}, {"--s3-bucket", f.Bucket}, {"--s3-access-key", f.AccessKey}, {"--s3-secret-key", f.SecretKey},
	} {
		if flag.value == "" {
			return nil, fmt.Errorf("%s: is missing; object storage requires it", flag.name)
		}
	}
	store, err := s3store.New(s3store.Config{
		Endpoint: string(f.Endpoint), Bucket: f.Bucket, Region: f.Region, AccessKey: f.AccessKey, SecretKey: f.SecretKey,
	})
	if err != nil {
		return nil, errors.New("object storage: " + strings.TrimPrefix(err.Error(), "s3store: "))
	}
	return store, nil
}
