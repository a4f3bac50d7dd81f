package browsertest

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/backgroundservice"
	permissions "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Permit answers the question for a permission, such as "notifications", on the page's host.
func (p *Page) Permit(permission string, granted bool) {
	p.t.Helper()
	p.run("permit "+permission, func(ctx context.Context) error {
		info, err := chromedp.Call(ctx, target.GetTargetInfo, target.GetTargetInfoParams{})
		if err != nil {
			return err
		}
		setting := permissions.PermissionSettingDenied
		if granted {
			setting = permissions.PermissionSettingGranted
		}
		_, err = chromedp.CallBrowser(ctx, permissions.SetPermission, permissions.SetPermissionParams{
			Permission: &permissions.PermissionDescriptor{Name: permission}, Setting: setting,
			Origin: p.origin(), BrowserContextID: info.TargetInfo.BrowserContextID,
		})
		return err
	})
}

func (p *Page) origin() string { return p.base.Scheme + "://" + p.base.Host }

// Notification is what a browser shows.
type Notification struct{ Title, Body, Tag string }

// Push delivers a message to the service worker of a scope, as a push service would, and returns the notification that
// the worker shows.
func (p *Page) Push(scope, content string) (shown Notification) {
	p.t.Helper()
	p.run("push a message", func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		workers, notifications := make(chan serviceworker.RegistrationID, 1), make(chan Notification, 1)
		err := chromedp.Listen(ctx, func(event any) {
			switch e := event.(type) {
			case *serviceworker.EventWorkerRegistrationUpdated:
				for _, r := range e.Registrations {
					if r.ScopeURL == p.origin()+scope && !r.IsDeleted {
						offer(workers, r.RegistrationID)
					}
				}
			case *backgroundservice.EventBackgroundServiceEventReceived:
				offer(notifications, notificationOf(e.BackgroundServiceEvent))
			}
		})
		if err != nil {
			return err
		}
		if err := watchNotifications(ctx); err != nil {
			return err
		}
		worker, err := receive(ctx, workers)
		if err != nil {
			return fmt.Errorf("no service worker for %s: %w", scope, err)
		}
		_, err = chromedp.Call(ctx, serviceworker.DeliverPushMessage, serviceworker.DeliverPushMessageParams{Origin: p.origin(), RegistrationID: worker, Data: content})
		if err != nil {
			return err
		}
		if shown, err = receive(ctx, notifications); err != nil {
			return fmt.Errorf("no notification: %w", err)
		}
		return nil
	})
	return shown
}

// watchNotifications makes the browser report all service workers, and the notifications from now on.
func watchNotifications(ctx context.Context) error {
	// Enable reports the workers only if they are not being reported.
	for _, cmd := range []cdp.Command[cdp.Empty, cdp.Empty]{serviceworker.Disable, serviceworker.Enable} {
		if _, err := chromedp.Call(ctx, cmd, cdp.Empty{}); err != nil {
			return err
		}
	}
	const service = backgroundservice.ServiceNameNotifications
	if _, err := chromedp.Call(ctx, backgroundservice.ClearEvents, backgroundservice.ClearEventsParams{Service: service}); err != nil {
		return err
	}
	if _, err := chromedp.Call(ctx, backgroundservice.StartObserving, backgroundservice.StartObservingParams{Service: service}); err != nil {
		return err
	}
	_, err := chromedp.Call(ctx, backgroundservice.SetRecording, backgroundservice.SetRecordingParams{Service: service, ShouldRecord: true})
	return err
}

func notificationOf(e *backgroundservice.Event) Notification {
	n := Notification{Tag: e.InstanceID}
	for _, m := range e.EventMetadata {
		switch m.Key {
		case "Title":
			n.Title = m.Value
		case "Body":
			n.Body = m.Value
		}
	}
	return n
}

// offer sends a value if the channel has room.
func offer[T any](to chan<- T, value T) {
	select {
	case to <- value:
	default:
	}
}

func receive[T any](ctx context.Context, from <-chan T) (value T, err error) {
	select {
	case value = <-from:
		return value, nil
	case <-ctx.Done():
		return value, ctx.Err()
	}
}
