package pieces

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// UnpackOptions are the options of airgap unpack.
type UnpackOptions struct {
	From     []string // directories with pieces
	Dir      string   // for the bundle
	Set      string   // short ID; "": of the first piece
	Missing  string   // file for the list of missing pieces; "": none
	Progress ui.Progress
}

// Unpacked is the result of Unpack.
type Unpacked struct {
	Set        string         `json:"set"` // short ID
	Pieces     int            `json:"pieces"`
	New        int            `json:"new"` // pieces of this run
	Had        int            `json:"had"` // of earlier runs
	Recovered  int            `json:"recovered,omitempty"`
	Missing    string         `json:"missing,omitempty"` // ranges for pack --only
	Duplicates int            `json:"duplicates,omitempty"`
	Ignored    int            `json:"ignored,omitempty"` // files that are not pieces
	Others     map[string]int `json:"others,omitempty"`  // pieces of other sets
	Problems   []Problem      `json:"problems,omitempty"`
	Complete   bool           `json:"complete"`
	Bytes      int64          `json:"bytes"`

	dir     string
	seconds float64
}

// maxFiles limits the files that Unpack looks at.
const maxFiles = 1 << 20

// Unpack puts the pieces in o.From together, in any order and in any number of runs. While pieces are missing, there are a
// result and an error that lists them. When none is missing, every file has the SHA-256 that the set has for it.
func Unpack(ctx context.Context, o UnpackOptions) (Unpacked, error) {
	began := time.Now()
	u := &unpacker{options: o}
	defer u.close()
	done, err := u.run(ctx)
	done.seconds = time.Since(began).Seconds()
	if err != nil {
		err = advice.Add(fmt.Errorf("unpack to %s: %w", o.Dir, err), "fix the error and run the same command again: complete pieces are kept")
	}
	return done, err
}

func (u *unpacker) run(ctx context.Context) (Unpacked, error) {
	files, closeAll, err := listFiles(u.options.From)
	defer closeAll()
	if err != nil {
		return Unpacked{}, err
	}
	if err := u.resume(); err != nil {
		return Unpacked{}, err
	}
	had := len(u.have)
	c := &collector{want: u.m, set: u.options.Set, begin: u.begin, take: func(n int) bool { return !u.have[n] }, put: u.put, done: u.finished}
	task := u.options.Progress.Task("unpack", totalOf(files), true)
	for _, f := range files {
		if err := c.open(ctx, f.root, f.name); err != nil {
			task.End(err)
			return u.result(c, had), err
		}
		task.Add(f.size)
	}
	task.End(nil)
	if u.m == nil {
		return u.result(c, had), u.nothing(c)
	}
	if u.already {
		return u.result(c, had), nil
	}
	recovered, err := u.recover(ctx)
	if err != nil {
		return u.result(c, had), err
	}
	u.recovered = len(recovered)
	if err := u.missing(); err != nil {
		return u.result(c, had), err
	}
	err = u.complete(ctx)
	return u.result(c, had), err
}

// candidate is a file that may contain pieces.
type candidate struct {
	root *os.Root
	name string
	size int64
}

func totalOf(files []candidate) (total int64) {
	for _, f := range files {
		total += f.size
	}
	return total
}

// listFiles lists the regular files in and below the directories, without links.
func listFiles(dirs []string) (all []candidate, closeAll func(), err error) {
	var roots []*os.Root
	closeAll = func() {
		for _, r := range roots {
			r.Close()
		}
	}
	for _, dir := range dirs {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, closeAll, advice.Add(fmt.Errorf("open the directory with pieces: %w", err), "mount the drive, and give the directory that contains the pieces")
		}
		roots = append(roots, root)
		err = fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return nil //nolint:nilerr // such as System Volume Information, which only its system can read
			}
			info, err := e.Info()
			if err != nil {
				return nil //nolint:nilerr // it was removed
			}
			if all = append(all, candidate{root, path, info.Size()}); len(all) > maxFiles {
				return fmt.Errorf("%s has more than %d files: give the directory that contains only the pieces", dir, maxFiles)
			}
			return nil
		})
		if err != nil {
			return nil, closeAll, err
		}
	}
	return all, closeAll, nil
}

func (u *unpacker) result(c *collector, had int) Unpacked {
	r := Unpacked{Had: had, New: len(c.found), Recovered: u.recovered, Duplicates: c.duplicates, Ignored: c.ignored, Others: c.others, Problems: c.problems, dir: u.options.Dir}
	if u.m != nil {
		r.Set, r.Pieces, r.Bytes = u.m.ID(), u.m.count(), u.m.total
		r.Missing = Ranges(u.lost)
	}
	r.Complete = u.finishedAll || u.already
	return r
}

// nothing is the error where no file has a piece of the set.
func (u *unpacker) nothing(c *collector) error {
	what := "no file there is a piece of airgap pack"
	if len(c.problems) > 0 {
		what = fmt.Sprintf("no file there is a complete piece: %s: %s", c.problems[0].File, c.problems[0].Cause)
	}
	if len(c.others) > 0 {
		what = fmt.Sprintf("no piece there is of set %s, but of %s", u.options.Set, ui.And(slices.Sorted(maps.Keys(c.others))))
	}
	return advice.Add(errors.New(what), "give the directory that contains the pieces; the gate may have removed or changed all of them")
}

// missing returns an error while data pieces are missing, and writes their list.
func (u *unpacker) missing() error {
	u.lost = nil
	for n := range u.m.data() {
		if !u.have[n] {
			u.lost = append(u.lost, n+1)
		}
	}
	if len(u.lost) == 0 {
		return nil
	}
	list := u.m.ID() + ":" + Ranges(u.lost)
	if u.options.Missing != "" {
		if err := host.WriteFile(u.options.Missing, []byte(list+"\n"), 0o644); err != nil {
			return err
		}
	}
	only := list
	const longest = 300 // of a list that people read to each other
	if len(only) > longest {
		only = "FILE"
		if u.options.Missing == "" {
			list = list[:longest] + "… (the whole list: --missing FILE)"
		}
	}
	return advice.Add(fmt.Errorf("%s of %d missing: %s", ui.Count(len(u.lost), "piece"), u.m.data(), list),
		"on the connected host, run airgap pack with the same --size, --ext and --parity and with --only %s; carry the result, and run airgap unpack again", only)
}

// Write prints the complete files and the missing pieces.
func (r Unpacked) Write(w io.Writer) error {
	for _, p := range r.Problems {
		fmt.Fprintf(w, "  unusable  %s: %s\n", p.File, p.Cause)
	}
	if r.Set == "" {
		return nil
	}
	var notes []string
	note := func(n int, what string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf("%d %s", n, what))
		}
	}
	note(r.Had, "from earlier runs")
	note(r.Recovered, "computed from parity")
	note(r.Duplicates, "duplicates")
	note(r.Ignored, "other files")
	for _, set := range slices.Sorted(maps.Keys(r.Others)) {
		note(r.Others[set], "of set "+set+", which are ignored")
	}
	fmt.Fprintf(w, "set %s: %d new of %s (%s)\n", r.Set, r.New, ui.Count(r.Pieces, "piece"), strings.Join(append(notes, fmt.Sprintf("%.1f s", r.seconds)), ", "))
	if !r.Complete {
		return nil
	}
	_, err := fmt.Fprintf(w, "%s: %s, every file has its SHA-256\n  next: airgap inspect %s --full, which checks the signature; then follow INSTALL.txt\n", r.dir, ui.Size(r.Bytes), r.dir)
	return err
}
