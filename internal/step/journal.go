package step

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"airgap.dev/airgap/internal/host"
)

// What a journal entry says happened.
const (
	Began  = "began"
	Ended  = "ended"
	Broke  = "failed"
	Undone = "undone"
)

// Entry is one line of the journal. It never holds secrets.
type Entry struct {
	Time  time.Time `json:"time"`
	Step  string    `json:"step"`
	Event string    `json:"event"`
	Error string    `json:"error,omitempty"`
}

// Journal is an append-only file of JSON lines, each one fsynced.
type Journal struct {
	path string
	now  func() time.Time
}

// OpenJournal names the journal at path; the file is made with the first
// entry, mode 0600.
func OpenJournal(path string) *Journal { return &Journal{path: path, now: time.Now} }

func (j *Journal) append(e Entry) error {
	e.Time = j.now().UTC()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(j.path), 0o755); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	f, err := os.OpenFile(j.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	defer f.Close()
	if begun, err := f.Stat(); err != nil || begun.Size() == 0 {
		if err := errors.Join(err, host.SyncDir(filepath.Dir(j.path))); err != nil { // its name has to last too
			return fmt.Errorf("write journal: %w", err)
		}
	}
	// The line feed in front ends a line that a power loss cut short.
	if _, err := f.Write(slices.Concat([]byte{'\n'}, line, []byte{'\n'})); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return f.Sync()
}

// conclude notes that a step ended or was undone, when what it did is durable: what
// the journal says is so after a power cut, too.
func (j *Journal) conclude(e Entry) error {
	if err := host.Sync(); err != nil {
		return err
	}
	return j.append(e)
}

// open are the steps that the journal has begun, or failed, and not ended.
func (j *Journal) open() (map[string]bool, error) {
	entries, err := j.Entries()
	open := map[string]bool{}
	for _, e := range entries {
		open[e.Step] = e.Event == Began || e.Event == Broke
	}
	return open, err
}

// Entries are the journal's lines, oldest first; none when there is no
// journal. A last line cut by a power loss is left out.
func (j *Journal) Entries() ([]Entry, error) {
	data, err := os.ReadFile(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	var entries []Entry
	for line := range bytes.Lines(data) {
		var e Entry
		if json.Unmarshal(line, &e) == nil {
			entries = append(entries, e)
		}
	}
	return entries, nil
}
