package upgraderecord

import (
	"path/filepath"
	"slices"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/host"
)

// Workers records the workers of batches that are done, for the next run. Batches of one worker are in the journal, as
// in older versions.
type Workers struct{ Dir string }

// WorkersOf is the record of the last upgrade on this host. A new upgrade removes that of the one before.
func WorkersOf() Workers { return Workers{site.UpgradeDir} }

// WorkersFile is the name in UpgradeDir.
const WorkersFile = "workers.json"

// DoneWorkers are the names of workers.
type DoneWorkers struct {
	Compared []string `json:"compared"` // after their upgrade the cluster was compared
	Back     []string `json:"back"`     // the rollback has brought them back
}

// Read returns the workers that are done. There are none without a record.
func (w Workers) Read() (DoneWorkers, error) {
	return host.ReadJSON[DoneWorkers](filepath.Join(w.Dir, WorkersFile))
}

// NoteCompared adds workers after whose upgrade the cluster was compared.
func (w Workers) NoteCompared(names ...string) error {
	return w.note(func(d *DoneWorkers) { d.Compared = with(d.Compared, names) })
}

// NoteBack adds workers that the rollback has brought back.
func (w Workers) NoteBack(names ...string) error {
	return w.note(func(d *DoneWorkers) { d.Back = with(d.Back, names) })
}

func (w Workers) note(change func(*DoneWorkers)) error {
	done, err := w.Read()
	if err != nil {
		return err
	}
	change(&done)
	return host.WriteJSON(filepath.Join(w.Dir, WorkersFile), done)
}

func with(all, names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(all), names...))))
}
