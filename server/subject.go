package server

import "github.com/google/uuid"

// subject is what an endpoint is about.
type subject struct {
	inProject bool                      // it belongs to the project of the key, which the query names for a key of the installation
	find      func(*call, string) error // reads what the parameter :id names into the call, or nil if there is no :id
}

var (
	noProject   = subject{}                // the installation, or all projects
	noCheck     = subject{inProject: true} // a project
	byProject   = subject{false, byID("api key", (*call).findProject)}
	byUUID      = subject{true, byID("check", (*call).findCheck)}
	byUniqueKey = subject{true, (*call).findByUniqueKey} // or by UUID
	byChannel   = subject{true, byID("channel", (*call).findChannel)}
	byPage      = subject{true, byID("status page", (*call).findPage)}
	byWindow    = subject{true, (*call).findWindow} // a maintenance window or a snooze
)

// byID finds a thing by UUID. find returns the project that owns it: a thing of another project differs from one that is missing.
func byID(thing string, find func(*call, uuid.UUID) (owner uuid.UUID, err error)) func(*call, string) error {
	return func(c *call, text string) error {
		id, ok := parseUUID(text, false)
		if !ok {
			return errNotFound
		}
		owner, err := find(c, id)
		if err == nil && owner != c.key.ProjectID {
			return errForeign(thing)
		}
		return err
	}
}

func (c *call) findCheck(id uuid.UUID) (owner uuid.UUID, err error) {
	c.check, err = c.mon.Check(c.r.Context(), id)
	return c.check.ProjectID, err
}

func (c *call) findByUniqueKey(text string) error {
	if !isUniqueKey(text) {
		return byUUID.find(c, text)
	}
	found, err := c.mon.Project(c.key.ProjectID).CheckByUniqueKey(c.r.Context(), text)
	if err == nil {
		c.check = *found.Check
	}
	return err
}

func (c *call) findChannel(id uuid.UUID) (owner uuid.UUID, err error) {
	c.channel, err = c.mon.Projects().Channel(c.r.Context(), id)
	return c.channel.ProjectID, err
}

func (c *call) findPage(id uuid.UUID) (owner uuid.UUID, err error) {
	c.statusPage, err = c.mon.Projects().StatusPage(c.r.Context(), id)
	return c.statusPage.ProjectID, err
}

// findProject finds a project. A key of the installation owns all.
func (c *call) findProject(id uuid.UUID) (owner uuid.UUID, err error) {
	c.project, err = c.mon.Projects().ByID(c.r.Context(), id)
	if c.installation {
		return c.key.ProjectID, err
	}
	return c.project.ID, err
}

// findWindow finds a window in the project of the key. One of another project is missing.
func (c *call) findWindow(text string) (err error) {
	id, ok := parseUUID(text, false)
	if !ok {
		return errNotFound
	}
	c.window, err = c.mon.Project(c.key.ProjectID).Window(c.r.Context(), id)
	return err
}
