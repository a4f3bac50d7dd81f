package s3store

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"
)

// client sends signed requests to one bucket.
type client struct {
	http        http.Client
	signer      *v4.Signer
	credentials aws.Credentials
	region      string
	bucket      *url.URL // its path ends with "/"
	bulkDelete  bool     // the service can remove many objects with one request
}

func newClient(endpoint *url.URL, config *Config, transport http.RoundTripper) *client {
	c := &client{
		// A redirect would need another signature.
		http:        http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		signer:      v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }), // S3 alone signs the path as it is sent
		credentials: aws.Credentials{AccessKeyID: config.AccessKey, SecretAccessKey: config.SecretKey},
		region:      orDefault(config.Region, "us-east-1"),
	}
	c.bucket = bucketURL(endpoint, config.Bucket, c.region)
	c.bulkDelete = !within(c.bucket.Hostname(), "storage.googleapis.com")
	return c
}

// bucketURL returns the URL of a bucket. Amazon, Google and Alibaba want the bucket in the host, all other services in
// the path.
func bucketURL(endpoint *url.URL, bucket, region string) *url.URL {
	host := strings.ToLower(endpoint.Host)
	if host == "s3.amazonaws.com" { // by path it would serve us-east-1 only
		host = "s3.dualstack." + region + ".amazonaws.com"
	}
	u := &url.URL{Scheme: endpoint.Scheme, Host: host}
	byHost := false
	for _, domain := range []string{"amazonaws.com", "amazonaws.com.cn", "storage.googleapis.com", "aliyuncs.com"} {
		byHost = byHost || within(u.Hostname(), domain)
	}
	if byHost && (u.Scheme == "http" || !strings.Contains(bucket, ".")) { // certificates cover one label
		u.Host = bucket + "." + host
		return u.JoinPath("/")
	}
	return u.JoinPath(bucket, "/")
}

// within reports whether a host is a domain or in it.
func within(host, domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }

// do sends a request and returns the answer if its status is a success. The caller closes its body. An empty key means
// the bucket. Other answers are an [answerError].
func (c *client) do(ctx context.Context, method, key, query string, body []byte) (*http.Response, error) {
	u := *c.bucket
	u.Path += key
	u.RawPath = httpbinding.EscapePath(u.Path, false)
	u.RawQuery = query
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	sum, hash := md5.Sum(body), sha256.Sum256(body)
	hexHash := hex.EncodeToString(hash[:])
	req.Header.Set("X-Amz-Content-Sha256", hexHash)
	// Send both sums, because a service may check only one of them.
	if method == http.MethodPut || method == http.MethodPost {
		req.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
	}
	if method == http.MethodPut {
		req.Header.Set("Content-Type", "application/octet-stream")
	}
	if err := c.signer.SignHTTP(ctx, c.credentials, req, hexHash, "s3", c.region, time.Now()); err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity") // not signed, because proxies change it
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, readError(resp)
	}
	return resp, nil
}

const (
	// maxDocument and maxError bound the XML document of an answer, in bytes. One about 500 objects has some 200 kB, and
	// one about an error less than 1 kB.
	maxDocument, maxError = 512 << 10, 64 << 10
	// maxDepth bounds the open elements of a document, which the decoder keeps in memory. S3 nests three.
	maxDepth = 8
	// maxCode and maxKey bound what is logged of an answer, in bytes. S3 allows no longer key.
	maxCode, maxKey = 100, 1024
)

// decode reads the XML document of an answer.
func decode(answer io.Reader, limit int64, document any) error {
	return xml.NewTokenDecoder(&shallow{decoder: xml.NewDecoder(io.LimitReader(answer, limit))}).Decode(document)
}

// shallow returns the tokens of a document unless it nests deeper than maxDepth.
type shallow struct {
	decoder *xml.Decoder
	depth   int
}

func (s *shallow) Token() (xml.Token, error) {
	token, err := s.decoder.RawToken()
	switch token.(type) {
	case xml.StartElement:
		s.depth++
	case xml.EndElement:
		s.depth--
	}
	if s.depth > maxDepth {
		return nil, errNotS3
	}
	return token, err
}

// answerError is an answer that reports a failure. The text is the code of S3, or the status if there is no code.
type answerError string

func (e answerError) Error() string { return string(e[:min(len(e), maxCode)]) }

// readError returns the error that an answer reports. A 404 from a proxy or another web server is not one of S3, and
// would be taken for a missing object.
func readError(resp *http.Response) error {
	var document struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
	}
	err := decode(resp.Body, maxError, &document)
	switch {
	case err == nil && document.Code != "":
		return answerError(document.Code)
	case resp.StatusCode == http.StatusNotFound:
		return errNotS3
	}
	return answerError(resp.Status)
}

// objectFault is an object that could not be removed, and the code of S3.
type objectFault struct{ Key, Code string }

// removeMany removes objects with one request. It returns those that the service did not remove.
func (c *client) removeMany(ctx context.Context, keys []string) ([]objectFault, error) {
	type objectKey struct{ Key string }
	var list struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ Delete"`
		Quiet   bool     // only errors are answered
		Object  []objectKey
	}
	list.Quiet = true
	for _, key := range keys {
		list.Object = append(list.Object, objectKey{key})
	}
	body, err := xml.Marshal(list)
	if err != nil {
		return nil, err
	}
	resp, err := c.do(ctx, http.MethodPost, "", "delete=", body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var result struct {
		XMLName xml.Name
		Code    string // of the document Error, which may come with status 200
		Error   []objectFault
	}
	err = decode(resp.Body, maxDocument, &result)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil && result.XMLName.Local == "Error":
		return nil, answerError(result.Code)
	case err != nil || result.XMLName.Local != "DeleteResult":
		return nil, errNotS3
	}
	return result.Error, nil
}
