package runtime

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

const (
	trustFile     = "/etc/fapolicyd/trust.d/airgap"
	rulesFile     = "/etc/fapolicyd/rules.d/45-airgap.rules" // before the rule that denies all other programs
	compiledRules = "/etc/fapolicyd/compiled.rules"
	fapolicydUndo = host.UndoDir + "/fapolicyd.json"
)

// FapolicydStep makes fapolicyd trust the runtime's programs by their hashes, and lets the runtime
// start network plugins. It does nothing if fapolicyd does not run.
func FapolicydStep(m host.Machine, r Config) step.Step {
	f := fapolicyd{m, r.engine()}
	return step.Step{
		Name: "fapolicyd", Title: "Configure fapolicyd to trust the runtime",
		Done: f.holds, Plan: f.plan, Run: f.trust, Undo: f.undo,
	}
}

type fapolicyd struct {
	m      host.Machine
	engine engine
}

// rules returns the rules for programs that a network plugin installs itself. Programs of a package
// need no rule, because fapolicyd trusts the rpm database.
func (f fapolicyd) rules() []byte {
	return fmt.Appendf(nil, "# Written by airgap: only the runtime may run network plugins, and only Calico's plugin may run calico-ipam.\n"+
		"allow perm=execute exe=%s : dir=/opt/cni/bin/\n"+
		"allow perm=execute exe=/opt/cni/bin/calico : path=/opt/cni/bin/calico-ipam\n", f.engine.program())
}

// fapolicydRecord has the original files, among them the compiled rules and fapolicyd's copy of the
// previous ones.
type fapolicydRecord struct {
	Files map[string]host.Kept `json:"files"`
	Read  bool                 `json:"read"` // fapolicyd has started with our rules
}

// files returns the files that airgap writes. The trust file has a line for each program, with its
// size and hash. Programs of a package need none, because fapolicyd trusts the rpm database.
func (f fapolicyd) files() (map[string][]byte, error) {
	if f.engine.rpm != "" {
		return map[string][]byte{rulesFile: f.rules()}, nil
	}
	record, err := readInstalled(f.m)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(record.Files)) {
		program := path.Join(host.BinDir, name)
		info, err := os.Stat(f.m.Path(program))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&text, "%s %d %s\n", program, info.Size(), record.Files[name])
	}
	return map[string][]byte{trustFile: text.Bytes(), rulesFile: f.rules()}, nil
}

func (f fapolicyd) runs(ctx context.Context) (bool, error) {
	return f.m.UnitIs(ctx, "is-active", "fapolicyd")
}

func (f fapolicyd) holds(ctx context.Context) (bool, error) {
	if runs, err := f.runs(ctx); err != nil || !runs {
		return true, err
	}
	files, err := f.files()
	if err != nil {
		return false, host.IgnoreMissing(err) // the programs are not installed yet
	}
	for name, data := range files {
		if holds, err := host.FileMatches(f.m.Path(name), data, 0o644); err != nil || !holds {
			return false, err
		}
	}
	record, err := host.ReadJSON[fapolicydRecord](f.m.Path(fapolicydUndo))
	if err != nil || !record.Read {
		return false, err
	}
	return f.allTrusted(ctx, files[trustFile]) == nil, ctx.Err()
}

// allTrusted returns nil if fapolicyd's database has every line of the trust file.
func (f fapolicyd) allTrusted(ctx context.Context, trust []byte) error {
	database, err := f.m.Host.Run(ctx, host.Cmd{Name: "fapolicyd-cli", Args: []string{"--dump-db"}})
	if err != nil {
		return fmt.Errorf("read fapolicyd's database: %w", err)
	}
	for line := range bytes.Lines(trust) {
		if !bytes.Contains(database, bytes.TrimSpace(line)) {
			return fmt.Errorf("check fapolicyd's database: missing entry %s", bytes.TrimSpace(line))
		}
	}
	return nil
}

func (f fapolicyd) plan(context.Context) ([]string, error) {
	changes, err := host.PlanFiles(map[string][]byte{f.m.Path(rulesFile): f.rules()}, 0o644)
	if err != nil {
		return changes, err
	}
	if f.engine.rpm != "" {
		return append(changes, "restart fapolicyd"), nil
	}
	return append(changes, "list the programs in "+host.BinDir+" with their hashes in "+trustFile, "restart fapolicyd"), nil
}

// trust writes the files and restarts fapolicyd, because fapolicyd reads its rules only at its start.
func (f fapolicyd) trust(ctx context.Context) error {
	files, err := f.files()
	if err != nil {
		return fmt.Errorf("list the programs to trust: %w", err)
	}
	record, err := host.ReadJSON[fapolicydRecord](f.m.Path(fapolicydUndo))
	if err != nil {
		return err
	}
	if record.Files == nil {
		record.Files = map[string]host.Kept{}
		for _, name := range []string{trustFile, rulesFile, compiledRules, compiledRules + ".prev"} {
			if record.Files[name], err = f.m.Keep(name); err != nil {
				return err
			}
		}
	}
	record.Read = false
	if err := host.WriteJSON(f.m.Path(fapolicydUndo), record); err != nil {
		return err
	}
	for name, data := range files {
		if err := host.WriteFile(f.m.Path(name), data, 0o644); err != nil {
			return err
		}
	}
	if err := f.restart(ctx); err != nil {
		return err
	}
	if err := await.Until(ctx, 2*time.Minute, func(ctx context.Context) error { return f.allTrusted(ctx, files[trustFile]) }); err != nil {
		return err
	}
	record.Read = true
	return host.WriteJSON(f.m.Path(fapolicydUndo), record)
}

func (f fapolicyd) restart(ctx context.Context) error {
	if err := f.m.Run(ctx, "fagenrules"); err != nil {
		return fmt.Errorf("compile fapolicyd's rules: %w", err)
	}
	if err := f.m.Run(ctx, "systemctl", "try-restart", "fapolicyd"); err != nil {
		return Explain(ctx, f.m, host.Failure{What: "restart fapolicyd", Err: err, Unit: "fapolicyd"})
	}
	return nil
}

// undo removes airgap's files and compiles the rules without them. If the compiled rules are then the
// original ones, it also restores fapolicyd's copy of the previous rules.
func (f fapolicyd) undo(ctx context.Context) error {
	record, err := host.ReadJSON[fapolicydRecord](f.m.Path(fapolicydUndo))
	if err != nil || record.Files == nil {
		return err
	}
	for _, name := range []string{trustFile, rulesFile} {
		if err := f.m.RestoreKept(name, record.Files[name]); err != nil {
			return err
		}
	}
	if _, err := os.Stat(f.m.Path(path.Dir(path.Dir(rulesFile)))); err == nil {
		if err := f.restart(ctx); err != nil {
			return err
		}
	}
	now, err := f.m.Keep(compiledRules)
	if err != nil {
		return err
	}
	if before := record.Files[compiledRules]; !now.Absent && bytes.Equal(now.Data, before.Data) {
		if err := f.m.RestoreKept(compiledRules+".prev", record.Files[compiledRules+".prev"]); err != nil {
			return err
		}
	}
	return host.Remove(f.m.Path(fapolicydUndo))
}
