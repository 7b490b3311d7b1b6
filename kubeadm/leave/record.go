package leave

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

const (
	recordFile = host.UndoDir + "/host.json"
	// KeptDir has the data that a reset keeps: etcd's data, and the list of directories with data
	// that stays in place.
	KeptDir    = host.StateDir + "/kept"
	keptFile   = KeptDir + "/data.json"
	keptPlaces = KeptDir + "/places.json"
	// partlyKept is the incomplete copy of a running or interrupted reset.
	partlyKept = KeptDir + "/etcd.part"
)

// record is the state of a host before the cluster, for all artifacts that a cluster can leave.
type record struct {
	Paths  map[string]content `json:"paths"`
	Places map[string]place   `json:"places,omitempty"` // target of each path; an older airgap did not record them
	Links  []string           `json:"links"`
	Tables []string           `json:"tables"` // FAMILY NAME
	Chains []string           `json:"chains"` // FAMILY TABLE NAME
	// Pods is the pod network: routes to it belong to the cluster.
	Pods string `json:"pods,omitempty"`
}

// content is the state of a path before the cluster. Later files in an empty directory belong to
// the cluster. Files in a full directory may belong to other programs, and a reset keeps them.
type content string

const (
	absent content = "absent"
	empty  content = "empty"
	full   content = "full"
)

// Record saves the state of the host before airgap changes anything. Its undo runs last and deletes
// everything that was created since, except data, which it lists for WipeData.
func Record(m Member) step.Step {
	return step.Step{
		Name: "record", Title: "Record the state of the host",
		Done: func(context.Context) (bool, error) {
			r, err := m.record()
			return r.Places != nil, err
		},
		Plan: func(context.Context) ([]string, error) { return []string{"write " + recordFile + " (new)"}, nil },
		Run:  m.writeRecord,
		Undo: m.undoRecord,
	}
}

func (m Member) writeRecord(ctx context.Context) error {
	r, err := m.record()
	if err != nil {
		return err
	}
	if r.Paths == nil {
		if r, err = m.observe(ctx); err != nil {
			return err
		}
	}
	if r.Places, err = m.places(r); err != nil {
		return fmt.Errorf("record the state of the host: %w", err)
	}
	return host.WriteJSON(m.Path(recordFile), r)
}

// places are the current targets of the paths. Before the first join, the kubelet's directory must
// not lead to a directory with other files.
func (m Member) places(r record) (map[string]place, error) {
	all := map[string]place{}
	for p := range r.Paths {
		at, err := m.placeOf(p)
		if err != nil {
			return nil, err
		}
		all[p] = at
	}
	s, err := node.StateOf(m.Machine)
	at := all[runtime.KubeletDir]
	if err == nil && s == node.Untouched && r.Paths[runtime.KubeletDir] == full && (at.Mounted != "" || at.Real != m.Path(runtime.KubeletDir)) {
		return nil, &host.Failure{What: "use " + runtime.KubeletDir, Err: errForeign(at), Next: "link or mount an empty directory at " + runtime.KubeletDir}
	}
	return all, err
}

// observe reads the state of the host before the cluster.
func (m Member) observe(ctx context.Context) (record, error) {
	rules, err := m.ruleset(ctx)
	if err != nil {
		return record{}, err
	}
	r := record{Paths: map[string]content{}, Pods: m.Pods}
	for _, t := range rules.tables() {
		r.Tables = append(r.Tables, t.words())
	}
	for _, c := range rules.chains() {
		r.Chains = append(r.Chains, c.words())
	}
	if r.Links, err = m.links(ctx); err != nil {
		return record{}, err
	}
	kept, err := host.ReadJSON[map[string]content](m.Path(keptFile))
	if err != nil {
		return record{}, err
	}
	t := m.traces()
	for _, p := range slices.Concat(t.Paths, t.Dirs, t.Data) {
		if r.Paths[p], err = contentOf(m.Path(p)); err != nil {
			return record{}, fmt.Errorf("record the state of the host: %w", err)
		}
		if before, ok := kept[p]; ok {
			r.Paths[p] = before // data that an earlier reset kept
		}
	}
	return r, nil
}

func (m Member) undoRecord(ctx context.Context) error {
	r, err := m.record()
	if err != nil {
		return err
	}
	t := m.traces()
	for _, p := range t.Paths {
		if err := m.deleteNew(ctx, p, r); err != nil {
			return err
		}
	}
	for _, p := range t.Dirs {
		if info, err := os.Lstat(m.Path(p)); r.Paths[p] != absent || err == nil && !info.IsDir() {
			continue
		}
		if err := os.Remove(m.Path(p)); host.IgnoreMissing(err) != nil && !errors.Is(err, fs.ErrExist) && !m.inUse(p) {
			return err
		}
	}
	if err := m.listData(t.Data, r); err != nil {
		return err
	}
	return host.Remove(m.Path(recordFile))
}

// inUse reports whether a directory contains files.
func (m Member) inUse(p string) bool {
	c, err := contentOf(m.Path(p))
	return err == nil && c == full
}

// listData saves the list of the cluster's data directories with their targets for a later
// WipeData.
func (m Member) listData(paths []string, r record) error {
	kept, places := map[string]content{}, map[string]place{}
	for _, p := range paths {
		if was := r.Paths[p]; (was == absent || was == empty) && m.inUse(p) {
			kept[p] = was
			if at, known := r.Places[p]; known {
				places[p] = at
			}
		}
	}
	if len(kept) == 0 {
		return errors.Join(host.Remove(m.Path(keptFile)), host.Remove(m.Path(keptPlaces)))
	}
	return errors.Join(host.WriteJSON(m.Path(keptPlaces), places), host.WriteJSON(m.Path(keptFile), kept))
}

// Data returns the directories with data that a reset would keep on this host, sorted.
func Data(m Member) ([]string, error) {
	before, err := m.record()
	if err != nil {
		return nil, err
	}
	paths, err := Kept(m)
	if err != nil {
		return nil, err
	}
	for _, p := range append(m.traces().Data, node.EtcdDir) {
		if was := before.Paths[p]; (was == absent || was == empty) && m.inUse(p) && !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// Kept returns the directories with data that earlier resets kept on this host, sorted.
func Kept(m Member) ([]string, error) {
	kept, err := host.ReadJSON[map[string]content](m.Path(keptFile))
	if err != nil {
		return nil, err
	}
	var paths []string
	for p := range kept {
		paths = append(paths, p)
	}
	saved, err := os.ReadDir(m.Path(KeptDir))
	if host.IgnoreMissing(err) != nil {
		return nil, err
	}
	for _, e := range saved {
		if e.IsDir() {
			paths = append(paths, KeptDir+"/"+e.Name())
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// WipeData deletes the data that Kept lists. It empties directories that existed before the
// cluster.
func WipeData(ctx context.Context, m Member) error {
	r, err := m.kept()
	if err != nil {
		return err
	}
	for p := range r.Paths {
		if err := m.deleteNew(ctx, p, r); err != nil {
			return err
		}
	}
	return host.RemoveTree(m.Path(KeptDir))
}

// WipeRefused returns an error if WipeData would delete other data than the cluster's.
func WipeRefused(m Member) error {
	r, err := m.kept()
	if err != nil {
		return err
	}
	return m.unmoved(r, slices.Sorted(maps.Keys(r.Paths))...)
}

// kept reads the list of listData.
func (m Member) kept() (r record, err error) {
	if r.Paths, err = host.ReadJSON[map[string]content](m.Path(keptFile)); err != nil {
		return r, err
	}
	r.Places, err = host.ReadJSON[map[string]place](m.Path(keptPlaces))
	return r, err
}

// record reads the record. Without one, all files count as older than the cluster, and nothing is
// deleted.
func (m Member) record() (record, error) {
	return host.ReadJSON[record](m.Path(recordFile))
}

func contentOf(p string) (content, error) {
	entries, err := os.ReadDir(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return absent, nil
	case errors.Is(err, fs.ErrPermission):
		return full, nil // not readable even for root, such as /sys in a container: not airgap's
	case err != nil:
		if info, statErr := os.Stat(p); statErr == nil && !info.IsDir() {
			return full, nil
		}
		return "", err
	}
	for _, e := range entries {
		if e.Name() != lostAndFound {
			return full, nil
		}
	}
	return empty, nil
}

// lostAndFound exists in the root of a file system.
const lostAndFound = "lost+found"
