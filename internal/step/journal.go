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

// Events of a journal entry.
const (
	Began  = "began"
	Ended  = "ended"
	Broke  = "failed"
	Undone = "undone"

	RunBegan = "run" // a command begins to change the host
	RunEnded = "end" // its steps have ended; Error is the first failure

	ActionBegan = "action" // a change that is not a step
	ActionEnded = "acted"  // its result; Error is the failure
)

// Entry is one line of the journal. It never holds secrets.
type Entry struct {
	Time  time.Time `json:"time"`
	Step  string    `json:"step"`
	Event string    `json:"event"`
	Of    string    `json:"of,omitempty"` // the undertaking of a step that runs once
	Error string    `json:"error,omitempty"`

	Title   string      `json:"title,omitempty"`   // of a step that began
	Changes []string    `json:"changes,omitempty"` // its plan
	Command *Invocation `json:"command,omitempty"` // of a run that began
	PID     int         `json:"pid,omitempty"`     // of the run: commands that need no lock run at the same time
}

// Invocation says who changes a host, and with which command.
type Invocation struct {
	Command string `json:"command"`        // without flags and arguments, which may be paths or codes
	User    string `json:"user"`           // "kim as root"
	From    string `json:"from,omitempty"` // the address of the SSH client
	Host    string `json:"host"`
	PID     int    `json:"pid"`     // one process may run several lists of steps
	Program string `json:"program"` // the version of airgap

	ID  string      `json:"id,omitempty"` // of the process: runs that it ordered on other hosts have it
	For host.Origin `json:"for,omitzero"` // the run on another host that ordered this one
}

// Journal is an append-only file of JSON lines, each one fsynced.
type Journal struct {
	path string
	now  func() time.Time

	command *Invocation // nil: runs are not recorded
	began   bool        // the run is recorded
}

// Of records that the entries belong to a run of a command. A run that changes nothing has no entries.
func (j *Journal) Of(command Invocation) *Journal {
	j.command = &command
	return j
}

// End records the end of the run, if it has entries.
func (j *Journal) End(err error) error {
	if !j.began {
		return nil
	}
	e := Entry{Event: RunEnded}
	if err != nil {
		e.Error = err.Error()
	}
	return j.append(e)
}

// BeginAction records a change that is not a step, before it begins: it has no postcondition.
func (j *Journal) BeginAction(name, title string, changes ...string) error {
	return j.append(Entry{Step: name, Event: ActionBegan, Title: title, Changes: bounded(changes)})
}

// EndAction records the result of the action.
func (j *Journal) EndAction(name string, err error) error {
	e := Entry{Step: name, Event: ActionEnded}
	if err != nil {
		e.Error = err.Error()
	}
	return j.append(e)
}

// OpenJournal names the journal at path; the file is made with the first
// entry, mode 0600.
func OpenJournal(path string) *Journal { return &Journal{path: path, now: time.Now} }

func (j *Journal) append(e Entry) error {
	if j.command != nil && !j.began {
		j.began = true
		if err := j.append(Entry{Event: RunBegan, Command: j.command}); err != nil {
			return err
		}
	}
	e.Time = j.now().UTC()
	if j.command != nil {
		e.PID = j.command.PID
	}
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
	// The line feed in front ends a line that a kill or a power loss cut short.
	if _, err := f.Write(slices.Concat([]byte{'\n'}, line, []byte{'\n'})); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return f.Sync()
}

// conclude records the end or the undo of a step after its changes are durable, so that the
// journal is right after a power cut, too.
func (j *Journal) conclude(e Entry) error {
	if err := host.Sync(); err != nil {
		return err
	}
	return j.append(e)
}

// once is a step that runs once, in its undertaking.
type once struct{ step, of string }

// history has the recorded state of steps.
type history struct {
	begun map[string]bool // begun or failed, and not ended since
	ended map[once]bool
}

func historyOf(entries []Entry) history {
	h := history{map[string]bool{}, map[once]bool{}}
	for _, e := range entries {
		h.begun[e.Step] = e.Event == Began || e.Event == Broke
		if e.Of != "" {
			h.ended[once{e.Step, e.Of}] = e.Event == Ended
		}
	}
	return h
}

// Ended reports whether a step that runs once has ended in an undertaking, its Once.
func (j *Journal) Ended(name, of string) (bool, error) {
	entries, err := j.Entries()
	return historyOf(entries).ended[once{name, of}], err
}

// EndedIn returns the names of the steps that run once and have ended in an undertaking, their Once.
func (j *Journal) EndedIn(of string) (map[string]bool, error) {
	entries, err := j.Entries()
	names := map[string]bool{}
	for step, ended := range historyOf(entries).ended {
		if ended && step.of == of {
			names[step.step] = true
		}
	}
	return names, err
}

// Entries are the journal's lines about steps, oldest first; none when there is no
// journal. Lines that a kill or a power loss cut short are left out.
func (j *Journal) Entries() ([]Entry, error) {
	all, err := j.Runs()
	return slices.DeleteFunc(all, func(e Entry) bool {
		return slices.Contains([]string{RunBegan, RunEnded, ActionBegan, ActionEnded}, e.Event)
	}), err
}

// Runs are Entries with the begin and the end of each run, and with actions.
func (j *Journal) Runs() ([]Entry, error) {
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
