package gpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

const (
	// MIGUnit divides the GPUs again at each boot, before CDIUnit: a boot deletes the instances,
	// and from Hopper on also resets the MIG mode (NVIDIA: MIG user guide).
	MIGUnit = "airgap-mig.service"
	migFile = "/etc/sysconfig/airgap-mig"
	migUndo = undoDir + "/mig.json"
)

// MIG is the division of a host's GPUs into instances. All GPUs have the same division.
type MIG struct {
	Setup
	Profiles []string // one profile per instance of a GPU: "1g.10gb" seven times; empty removes the division of an earlier run
	// Cards returns the current division from NVIDIA's library. It returns an error if the source
	// does not report the profiles of instances, as nvidia-smi does not.
	Cards func(context.Context) ([]Divided, error)
	// Users returns the users of this host's GPUs: "pod default/train-0".
	Users func(context.Context) ([]string, error)
}

// Divided is the current division of a GPU.
type Divided struct {
	GPU      string   // index and name of the GPU: "0 (NVIDIA H200)"
	On       bool     // its MIG mode
	Profiles []string // profiles of its instances, in any order: "1g.10gb"
}

// ProfileOf returns the profile in an instance name of the library: "1g.10gb" for
// "NVIDIA A100-SXM4-80GB MIG 1g.10gb"; "" if the name has none.
func ProfileOf(name string) string {
	_, profile, _ := strings.Cut(name, " MIG ")
	return profile
}

// MIGStep divides the GPUs into instances, now and at every boot. If a pod uses a GPU, the step fails
// and changes nothing. If a GPU changes its mode only at the next boot, it returns a *RebootError.
// Undo removes the division.
func MIGStep(m MIG) step.Step {
	return step.Step{
		Name: "gpu-mig", Title: "Divide the GPUs into instances",
		Done: m.done, Plan: m.plan, Run: m.divide, Undo: m.undivide,
	}
}

// migRecord records that this step has changed the GPUs.
type migRecord struct {
	Profiles []string `json:"profiles"`
}

func (m MIG) settings() []byte {
	return []byte(ours + "PROFILES=" + strings.Join(m.Profiles, ",") + "\n")
}

func (m MIG) done(ctx context.Context) (bool, error) {
	if len(m.Profiles) == 0 {
		return !m.has(strings.TrimPrefix(migUndo, "/")), nil
	}
	if holds, err := host.FileMatches(m.path(migFile), m.settings(), 0o644); err != nil || !holds {
		return false, err
	}
	if enabled, err := m.unitIs(ctx, "is-enabled", MIGUnit); err != nil || !enabled {
		return false, err
	}
	cards, err := m.Cards(ctx)
	return err == nil && len(m.others(cards)) == 0, err
}

// others returns the GPUs without the required division.
func (m MIG) others(cards []Divided) []Divided {
	want := slices.Sorted(slices.Values(m.Profiles))
	return slices.DeleteFunc(slices.Clone(cards), func(d Divided) bool {
		return slices.Equal(slices.Sorted(slices.Values(d.Profiles)), want)
	})
}

func (m MIG) plan(ctx context.Context) ([]string, error) {
	if len(m.Profiles) == 0 {
		return []string{"remove the MIG instances of all GPUs"}, nil
	}
	cards, err := m.Cards(ctx)
	var changes []string
	for _, d := range m.others(cards) {
		changes = append(changes, "divide GPU "+d.GPU+" into "+strings.Join(m.Profiles, ", "))
	}
	return changes, err
}

func (m MIG) divide(ctx context.Context) error {
	if err := m.refuseInUse(ctx); err != nil {
		return err
	}
	if len(m.Profiles) == 0 {
		if err := m.dropDescription(); err != nil {
			return err
		}
		return m.undivide(ctx)
	}
	cards, err := m.Cards(ctx)
	if err != nil {
		return err
	}
	if err := host.WriteJSON(m.path(migUndo), migRecord{m.Profiles}); err != nil {
		return err
	}
	if cards, err = m.on(ctx, cards); err != nil {
		return err
	}
	if len(m.others(cards)) > 0 {
		if err := m.clear(ctx, cards); err != nil {
			return err
		}
	}
	return m.create(ctx)
}

// refuseInUse returns an error if a GPU is in use, because the step would remove its instances.
func (m MIG) refuseInUse(ctx context.Context) error {
	users, err := m.Users(ctx)
	if err != nil || len(users) == 0 {
		return err
	}
	return &Failure{
		What: "divide the GPUs", Err: fmt.Errorf("the GPUs are in use: %s", strings.Join(users, ", ")),
		Next: "drain this node with kubectl drain, then run the same command again",
	}
}

// on enables the MIG mode where it is off, and returns the new state of the GPUs.
func (m MIG) on(ctx context.Context, cards []Divided) ([]Divided, error) {
	off := func(d Divided) bool { return !d.On }
	if !slices.ContainsFunc(cards, off) {
		return cards, nil
	}
	if err := m.mode(ctx, "1"); err != nil {
		return nil, &Failure{What: "enable MIG", Err: err, Next: "check that the GPUs support MIG: nvidia-smi mig -lgip lists the profiles of those that do"}
	}
	cards, err := m.Cards(ctx)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(cards, off); i >= 0 {
		return nil, &RebootError{Why: "GPU " + cards[i].GPU + " enables MIG at its next reset"}
	}
	return cards, nil
}

// clear removes all instances. It skips nvidia-smi if none exist, because nvidia-smi fails then.
func (m MIG) clear(ctx context.Context, cards []Divided) error {
	if !slices.ContainsFunc(cards, func(d Divided) bool { return len(d.Profiles) > 0 }) {
		return nil
	}
	for _, what := range []string{"-dci", "-dgi"} {
		if err := m.run(ctx, "nvidia-smi", "mig", what); err != nil {
			return &Failure{What: "remove the instances of the GPUs", Err: err, Next: "stop the processes that use them: nvidia-smi lists them"}
		}
	}
	return nil
}

// create creates the instances with the unit, as at each boot.
func (m MIG) create(ctx context.Context) error {
	if err := host.WriteFile(m.path(migFile), m.settings(), 0o644); err != nil {
		return err
	}
	if err := m.run(ctx, "systemctl", "enable", MIGUnit); err != nil {
		return err
	}
	cards, err := m.Cards(ctx)
	if err != nil || len(m.others(cards)) == 0 {
		return err
	}
	if err := m.dropDescription(); err != nil {
		return err
	}
	if err := m.run(ctx, "systemctl", "restart", MIGUnit); err != nil {
		return m.explainUnit(ctx, MIGUnit, err)
	}
	return m.run(ctx, "systemctl", "try-restart", CDIUnit) // update the description, if one exists
}

// undivide removes the division of this step. It disables the mode last, because GPUs with instances
// keep it. Missing instances are no error.
func (m MIG) undivide(ctx context.Context) error {
	if !m.has(strings.TrimPrefix(migUndo, "/")) {
		return nil
	}
	if err := m.run(ctx, "systemctl", "disable", "--now", MIGUnit); err != nil {
		return err
	}
	if err := host.Remove(m.path(migFile)); err != nil {
		return err
	}
	if !m.has(driverFile) { // without a driver the GPUs cannot be queried
		return host.Remove(m.path(migUndo))
	}
	m.run(ctx, "nvidia-smi", "mig", "-dci") //nolint:errcheck // a later command fails too
	m.run(ctx, "nvidia-smi", "mig", "-dgi") //nolint:errcheck // a later command fails too
	if err := m.mode(ctx, "0"); err != nil {
		return &Failure{What: "disable MIG", Err: err, Next: "stop the processes that use the GPUs: nvidia-smi lists them"}
	}
	if m.Cards != nil {
		cards, err := m.Cards(ctx)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(cards, func(d Divided) bool { return d.On }); i >= 0 {
			return &RebootError{Why: "GPU " + cards[i].GPU + " disables MIG at its next reset"}
		}
	}
	return host.Remove(m.path(migUndo))
}

// mode enables or disables MIG. Up to Ampere this needs a reset of the GPU, which any process with an
// open GPU prevents. So it stops the persistence daemon during the change.
func (m MIG) mode(ctx context.Context, mode string) error {
	var held []string
	for _, unit := range []string{PersistenceUnit, OwnPersistenceUnit} {
		if !m.hasUnit(unit) {
			continue
		}
		active, err := m.unitIs(ctx, "is-active", unit)
		if err != nil {
			return err
		}
		if !active {
			continue
		}
		if err := m.run(ctx, "systemctl", "stop", unit); err != nil {
			return err
		}
		held = append(held, unit)
	}
	err := m.run(ctx, "nvidia-smi", "-mig", mode)
	for _, unit := range held { // also after Ctrl-C
		err = errors.Join(err, m.run(context.WithoutCancel(ctx), "systemctl", "start", unit))
	}
	return err
}
