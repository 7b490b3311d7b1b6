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
	// KeptDir holds what a reset keeps: etcd's data, and the list of the
	// directories whose data stayed where it was.
	KeptDir    = host.StateDir + "/kept"
	keptFile   = KeptDir + "/data.json"
	keptPlaces = KeptDir + "/places.json"
	// partlyKept is what a run that is under way, or was interrupted, has of it.
	partlyKept = KeptDir + "/etcd.part"
)

// record is what a host had before the cluster, as far as a cluster leaves
// traces there.
type record struct {
	Paths  map[string]content `json:"paths"`
	Places map[string]place   `json:"places,omitempty"` // where each leads; an older airgap wrote down none
	Links  []string           `json:"links"`
	Tables []string           `json:"tables"` // FAMILY NAME
	Chains []string           `json:"chains"` // FAMILY TABLE NAME
	// Pods is the network of the pods' addresses: routes to it are the cluster's.
	Pods string `json:"pods,omitempty"`
}

// content says what a path held. What is in an empty directory later came
// with the cluster; what is in a full one may be anybody's, and stays.
type content string

const (
	absent content = "absent"
	empty  content = "empty"
	full   content = "full"
)

// Record writes down what the host has, before anything is changed. Its undo
// comes last and takes away what has come since, but for data, which it lists
// for WipeData.
func Record(m Member) step.Step {
	return step.Step{
		Name: "record", Title: "Write down what the host is like",
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
		return fmt.Errorf("write down what the host is like: %w", err)
	}
	return host.WriteJSON(m.Path(recordFile), r)
}

// places are where the paths lead now. Before the kubelet's first file its directory may
// not lead to one with something else in it.
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
		return nil, &host.Failure{What: "use " + runtime.KubeletDir, Err: errForeign(at), Next: "link or mount an empty directory there"}
	}
	return all, err
}

// observe is what the host is like before the cluster.
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
			return record{}, fmt.Errorf("write down what the host is like: %w", err)
		}
		if before, ok := kept[p]; ok {
			r.Paths[p] = before // our own, from before an earlier reset
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
		if err := m.takeAway(ctx, p, r); err != nil {
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

// inUse reports whether a directory holds something: it then stays.
func (m Member) inUse(p string) bool {
	c, err := contentOf(m.Path(p))
	return err == nil && c == full
}

// listData keeps in mind which data is the cluster's, and where, for a WipeData in years.
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

// Data are the directories with data that a reset now would leave on this
// host, sorted.
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

// Kept are the directories with data that resets left on this host, sorted.
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

// WipeData deletes what Kept lists. A directory that was there before the
// cluster is emptied.
func WipeData(ctx context.Context, m Member) error {
	r, err := m.kept()
	if err != nil {
		return err
	}
	for p := range r.Paths {
		if err := m.takeAway(ctx, p, r); err != nil {
			return err
		}
	}
	return host.RemoveTree(m.Path(KeptDir))
}

// WipeRefused says why WipeData would delete something else than the cluster's data.
func WipeRefused(m Member) error {
	r, err := m.kept()
	if err != nil {
		return err
	}
	return m.unmoved(r, slices.Sorted(maps.Keys(r.Paths))...)
}

// kept is what listData keeps in mind.
func (m Member) kept() (r record, err error) {
	if r.Paths, err = host.ReadJSON[map[string]content](m.Path(keptFile)); err != nil {
		return r, err
	}
	r.Places, err = host.ReadJSON[map[string]place](m.Path(keptPlaces))
	return r, err
}

// record is what Record wrote down; without one everything counts as having
// been there, and nothing is taken away.
func (m Member) record() (record, error) {
	return host.ReadJSON[record](m.Path(recordFile))
}

func contentOf(p string) (content, error) {
	entries, err := os.ReadDir(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return absent, nil
	case errors.Is(err, fs.ErrPermission):
		return full, nil // where root may not look, as in /sys of a container, nothing is ours
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

// lostAndFound marks a file system of its own.
const lostAndFound = "lost+found"
