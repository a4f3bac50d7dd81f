// Command calls calls the clients that ogen and oapi-codegen generate, once for each kind of operation. Its arguments are the
// address of a server, a key of the installation, and a project: its identifier, its ping key and a read-write key.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"

	"github.com/google/uuid"
	"github.com/ogen-go/ogen/ogenerrors"

	"clients/oapi"
	"clients/ogen"
)

func main() {
	url, installation, project, pingKey, readWrite := os.Args[1], os.Args[2], uuid.MustParse(os.Args[3]), os.Args[4], os.Args[5]
	callOgen(url, readWrite, pingKey)
	administer(url, installation, project)
	callOapi(url, readWrite, pingKey)
}

// key is sent with every request.
type key string

func (k key) AdminKey(context.Context, ogen.OperationName) (ogen.AdminKey, error) {
	return ogen.AdminKey{APIKey: string(k)}, nil
}

func (k key) ReadIDsKey(context.Context, ogen.OperationName) (ogen.ReadIDsKey, error) {
	return ogen.ReadIDsKey{APIKey: string(k)}, nil
}

func (k key) ReadOnlyKey(context.Context, ogen.OperationName) (ogen.ReadOnlyKey, error) {
	return ogen.ReadOnlyKey{APIKey: string(k)}, nil
}

func (k key) ReadWriteKey(context.Context, ogen.OperationName) (ogen.ReadWriteKey, error) {
	return ogen.ReadWriteKey{APIKey: string(k)}, nil
}

// PingKey sends no ping key: each request has another key.
func (k key) PingKey(context.Context, ogen.OperationName) (ogen.PingKey, error) {
	return ogen.PingKey{}, ogenerrors.ErrSkipClientSecurity
}

var ctx = context.Background()

// as returns an answer of the type that the document has for the expected status. ogen validates every answer by its schema.
func as[T any](answer any, err error) T {
	typed, ok := answer.(T)
	if err != nil || !ok {
		panic(fmt.Sprintf("%T %+v, %v: want %T", answer, answer, err, typed))
	}
	return typed
}

func equal(what string, got, want any) {
	if !reflect.DeepEqual(got, want) {
		panic(fmt.Sprintf("%s: %v, want %v", what, got, want))
	}
}

func text(r io.Reader) string {
	data, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func callOgen(url, readWrite, pingKey string) {
	c, err := ogen.NewClient(url, key(readWrite))
	if err != nil {
		panic(err)
	}
	wanted := ogen.NewOptCreateCheck(ogen.CreateCheck{
		Name: ogen.NewOptString("By ogen"), Slug: ogen.NewOptString("ogen"), Tags: ogen.NewOptString("ogen"), Timeout: ogen.NewOptInt(3600),
		Unique: []ogen.CreateCheckUniqueItem{ogen.CreateCheckUniqueItemName},
	})
	check := as[*ogen.CreateCheckCreated](c.CreateCheck(ctx, wanted, ogen.CreateCheckParams{})).Response
	as[*ogen.CreateCheckOK](c.CreateCheck(ctx, wanted, ogen.CreateCheckParams{}))
	id := check.UUID
	as[*ogen.CheckFields](c.GetCheck(ctx, ogen.GetCheckParams{ID: id.String()}))
	equal("checks", len(as[*ogen.Checks](c.ListChecks(ctx, ogen.ListChecksParams{Tag: []string{"ogen"}})).Checks), 1)
	as[*ogen.ChangedCheckHeaders](c.UpdateCheck(ctx, ogen.NewOptUpdateCheck(ogen.UpdateCheck{Grace: ogen.NewOptInt(60)}), ogen.UpdateCheckParams{ID: id}))

	run := ogen.NewOptUUID(uuid.New())
	as[*ogen.PingedHeaders](c.PingStart(ctx, ogen.PingStartParams{UUID: id, Rid: run}))
	pinged := as[*ogen.PingedHeaders](c.PostPingSuccess(ctx, ogen.PostPingSuccessReq{Data: strings.NewReader("412 tables\n")}, ogen.PostPingSuccessParams{UUID: id, Rid: run}))
	equal("a ping with a body", text(pinged.Response), "OK")
	equal("the limit in the answer to HEAD", as[*ogen.PingedHead](c.HeadPingSuccess(ctx, ogen.HeadPingSuccessParams{UUID: id})).PingBodyLimit, pinged.PingBodyLimit)
	as[*ogen.PingedHeaders](c.PostPingExitStatus(ctx, ogen.PostPingExitStatusReq{Data: strings.NewReader("disk full")}, ogen.PostPingExitStatusParams{UUID: id, ExitStatus: 3}))
	as[*ogen.PingedHeaders](c.PingSlugSuccess(ctx, ogen.PingSlugSuccessParams{PingKey: pingKey, Slug: "ogen"}))
	as[*ogen.PingCreatedHeaders](c.PingSlugLog(ctx, ogen.PingSlugLogParams{PingKey: pingKey, Slug: "fresh-ogen", Create: ogen.NewOptString("1")}))
	as[*ogen.PingNotFoundHeaders](c.PingFailure(ctx, ogen.PingFailureParams{UUID: uuid.New()}))

	equal("pings", len(as[*ogen.Pings](c.ListPings(ctx, ogen.ListPingsParams{ID: id})).Pings), 5)
	equal("the body", text(as[*ogen.GetPingBodyOKHeaders](c.GetPingBody(ctx, ogen.GetPingBodyParams{ID: id, N: 2})).Response), "412 tables\n")
	equal("flips", len(*as[*ogen.Flips](c.ListFlips(ctx, ogen.ListFlipsParams{ID: id.String()}))), 3)
	equal("runs", as[*ogen.Stats](c.ListStats(ctx, ogen.ListStatsParams{ID: id.String()})).Total.Runs, 4)
	equal("metrics", strings.Contains(text(as[*ogen.GetMetricsOK](c.GetMetrics(ctx, ogen.GetMetricsParams{}))), `rollcall_check_up{name="By ogen"`), true)

	parts := strings.Split(as[*ogen.BadgeList](c.ListBadges(ctx, ogen.ListBadgesParams{})).Badges["ogen"].JSON.Path, "/")
	tag := as[*ogen.JSONBadge](c.GetTagBadgeJSON(ctx, ogen.GetTagBadgeJSONParams{BadgeKey: parts[2], Signature: parts[3], Tag: "ogen"}))
	equal("the badge of a tag", tag.Total, 1)
	parts = strings.Split(strings.TrimSuffix(check.BadgeURL.Path, ".svg"), "/")
	own := uuid.MustParse(parts[len(parts)-1])
	svg := text(as[*ogen.SVGBadge](c.GetCheckBadgeSVG(ctx, ogen.GetCheckBadgeSVGParams{States: 2, CheckBadgeKey: own})))
	equal("the badge as a picture", strings.HasPrefix(svg, "<svg"), true)
	as[*ogen.ShieldsBadge](c.GetCheckBadgeShields(ctx, ogen.GetCheckBadgeShieldsParams{States: 3, CheckBadgeKey: own}))

	as[*ogen.ChangedCheck](c.PauseCheck(ctx, ogen.OptKeyOnly{}, ogen.PauseCheckParams{ID: id}))
	as[*ogen.ChangedCheck](c.ResumeCheck(ctx, ogen.OptKeyOnly{}, ogen.ResumeCheckParams{ID: id}))
	as[*ogen.ResumeCheckConflict](c.ResumeCheck(ctx, ogen.OptKeyOnly{}, ogen.ResumeCheckParams{ID: id}))
	as[*ogen.ChangedCheck](c.DeleteCheck(ctx, ogen.DeleteCheckParams{ID: id}))
	as[*ogen.GetCheckNotFound](c.GetCheck(ctx, ogen.GetCheckParams{ID: id.String()}))
	as[*ogen.Status](c.GetStatus(ctx))
}

// administer calls what needs an admin key.
func administer(url, installation string, project uuid.UUID) {
	c, err := ogen.NewClient(url, key(installation))
	if err != nil {
		panic(err)
	}
	of := ogen.NewOptUUID(project)
	channel := as[*ogen.CreateChannelCreated](c.CreateChannel(ctx, &ogen.CreateChannel{
		Kind: "ntfy", Name: ogen.NewOptString("Chat"), Settings: ogen.NewOptCreateChannelSettings(ogen.CreateChannelSettings{"topic": "jobs"}),
	}, ogen.CreateChannelParams{Project: of})).Response
	as[*ogen.ChannelDetail](c.GetChannel(ctx, ogen.GetChannelParams{Project: of, ID: channel.ID}))
	as[*ogen.ChannelDetail](c.DeleteChannel(ctx, ogen.DeleteChannelParams{Project: of, ID: channel.ID}))
	as[*ogen.ChannelKinds](c.ListChannelKinds(ctx))
	page := as[*ogen.StatusPage](c.CreateStatusPage(ctx, &ogen.StatusPageRequest{Slug: "ogen", Title: "Jobs"}, ogen.CreateStatusPageParams{Project: of}))
	as[*ogen.StatusPage](c.DeleteStatusPage(ctx, ogen.DeleteStatusPageParams{Project: of, ID: page.ID}))
	fresh := as[*ogen.CreatedProject](c.CreateProject(ctx, &ogen.CreateProject{Name: "By ogen"}))
	as[*ogen.Project](c.UpdateProject(ctx, &ogen.UpdateProject{Name: ogen.NewOptString("Renamed")}, ogen.UpdateProjectParams{ID: fresh.ID}))
	as[*ogen.Project](c.DeleteProject(ctx, ogen.DeleteProjectParams{ID: fresh.ID}))
	as[*ogen.ProjectList](c.ListProjects(ctx))
}

func callOapi(url, readWrite, pingKey string) {
	c, err := oapi.NewClientWithResponses(url, oapi.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("X-Api-Key", readWrite)
		return nil
	}))
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	must(err)
	name := "By oapi-codegen"
	created, err := c.CreateCheckWithResponse(ctx, nil, oapi.CreateCheck{Name: &name})
	must(err)
	id := created.JSON201.Uuid
	pinged, err := c.PostPingSuccessWithBodyWithResponse(ctx, id, nil, "text/plain", strings.NewReader("412 tables\n"))
	must(err)
	equal("a ping with a body", string(pinged.Body), "OK")
	head, err := c.HeadPingSuccessWithResponse(ctx, id, nil)
	must(err)
	equal("a ping by HEAD", head.StatusCode(), http.StatusOK)
	slug, err := c.PingSlugSuccessWithResponse(ctx, pingKey, "none", nil)
	must(err)
	equal("an unknown slug", slug.StatusCode(), http.StatusNotFound)
	body, err := c.GetPingBodyWithResponse(ctx, id, 1, nil)
	must(err)
	equal("the body", string(body.Body), "412 tables\n")
	few := 59
	refused, err := c.UpdateCheckWithResponse(ctx, id, nil, oapi.UpdateCheck{Timeout: &few})
	must(err)
	equal("the field at fault", *refused.JSON400.Field, "timeout")
	metrics, err := c.GetMetricsWithResponse(ctx, nil)
	must(err)
	equal("metrics", strings.Contains(string(metrics.Body), name), true)
	deleted, err := c.DeleteCheckWithResponse(ctx, id, nil)
	must(err)
	equal("the deleted check", deleted.JSON200.Name, name)
}
