package preflight

import (
	"slices"
	"time"
)

// Asked are the facts that the files of a host do not have: what was tried on it, and what others
// answered, for the installation at hand. They are gathered before the checks run, and only for
// checks that do (Choice.Judges). A survey has none of them.
type Asked struct {
	Cards *Cards // nil where nobody recognized them

	// EtcdDisk is the time within which 99 of 100 small writes are safe on etcd's disk.
	EtcdDisk    time.Duration
	EtcdDiskTry Try

	// MissingImages are those that the site's registry does not give.
	MissingImages    []string
	MissingImagesTry Try

	// Transaction is the bundle's packages, resolved against the host without changing it.
	Transaction Try

	// Taken says that an API server answers at Want.Founds already.
	Taken bool
}

// Cards are a host's GPUs and the driver that is loaded, as package gpu knows them.
type Cards struct {
	Free, Reserved string // GPUs that containers can have, and those kept for virtual machines; "" for none
	Driver         string // the loaded driver; "" for none, or one that is not known
	Wanted         string // the driver that the GPUs want instead; "" where it will do
	Unknown        string // why the loaded driver is not known
}

// Try is whether something was tried, and what came of it. In its zero value it was not.
type Try struct {
	Made   bool
	Failed string // why it failed; "" where it did not
	Left   string // why it was not made; "" where nobody says
}

// Tried is a try that ended with err, or well.
func Tried(err error) Try {
	if err != nil {
		return Try{Made: true, Failed: err.Error()}
	}
	return Try{Made: true}
}

// Judges reports whether a check is chosen and judges hosts of w's roles: what it alone needs is
// worth gathering.
func (c Choice) Judges(id string, w *Want) bool {
	check, err := Lookup(id)
	if err != nil || slices.Contains(c.Skip, id) || c.Only != nil && !slices.Contains(c.Only, id) {
		return false
	}
	return check.Role == "" || w.Is(check.Role)
}
