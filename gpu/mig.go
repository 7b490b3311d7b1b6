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
	// MIGUnit divides the cards again at each boot, before CDIUnit: instances do not
	// outlast one, nor, from Hopper on, does the mode (NVIDIA: MIG user guide).
	MIGUnit = "airgap-mig.service"
	migFile = "/etc/sysconfig/airgap-mig"
	migUndo = undoDir + "/mig.json"
)

// MIG is how the cards of a host are divided, all of them in the same way.
type MIG struct {
	Setup
	Profiles []string // of one card's instances: "1g.10gb" seven times; none takes back what an earlier run divided
	// Cards asks NVIDIA's library how they are divided now: an error where that does
	// not tell the instances' profiles, as nvidia-smi does not.
	Cards func(context.Context) ([]Divided, error)
	// Users are what has cards of this host: "pod default/train-0".
	Users func(context.Context) ([]string, error)
}

// Divided is one card as it is.
type Divided struct {
	Card     string   // as people know it: "0 (NVIDIA H200)"
	On       bool     // its MIG mode
	Profiles []string // of its instances, in any order: "1g.10gb"
}

// ProfileOf is the profile in the name that the library gives an instance: "1g.10gb"
// of "NVIDIA A100-SXM4-80GB MIG 1g.10gb"; "" where there is none in it.
func ProfileOf(name string) string {
	_, profile, _ := strings.Cut(name, " MIG ")
	return profile
}

// MIGStep divides the cards into instances, now and at every boot. While a pod has
// one it changes nothing and fails. A card that takes its new mode at the next boot
// only ends it with a *RebootError. Undo makes the cards whole again.
func MIGStep(m MIG) step.Step {
	return step.Step{
		Name: "gpu-mig", Title: "Divide the GPUs into instances",
		Done: m.done, Plan: m.plan, Run: m.divide, Undo: m.whole,
	}
}

// migRecord says that this step has changed the cards.
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
	if holds, err := host.Holds(m.path(migFile), m.settings(), 0o644); err != nil || !holds {
		return false, err
	}
	if enabled, err := m.unitIs(ctx, "is-enabled", MIGUnit); err != nil || !enabled {
		return false, err
	}
	cards, err := m.Cards(ctx)
	return err == nil && len(m.others(cards)) == 0, err
}

// others are the cards that are not divided as wanted.
func (m MIG) others(cards []Divided) []Divided {
	want := slices.Sorted(slices.Values(m.Profiles))
	return slices.DeleteFunc(slices.Clone(cards), func(d Divided) bool {
		return slices.Equal(slices.Sorted(slices.Values(d.Profiles)), want)
	})
}

func (m MIG) plan(ctx context.Context) ([]string, error) {
	if len(m.Profiles) == 0 {
		return []string{"make all GPUs whole again"}, nil
	}
	cards, err := m.Cards(ctx)
	var changes []string
	for _, d := range m.others(cards) {
		changes = append(changes, "divide GPU "+d.Card+" into "+strings.Join(m.Profiles, ", "))
	}
	return changes, err
}

func (m MIG) divide(ctx context.Context) error {
	if err := m.refuseInUse(ctx); err != nil {
		return err
	}
	if len(m.Profiles) == 0 {
		if err := m.describeAnew(); err != nil {
			return err
		}
		return m.whole(ctx)
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

// refuseInUse stops before instances are taken from under somebody.
func (m MIG) refuseInUse(ctx context.Context) error {
	users, err := m.Users(ctx)
	if err != nil || len(users) == 0 {
		return err
	}
	return &Failure{
		What: "divide the GPUs", Err: fmt.Errorf("they are in use: %s", strings.Join(users, ", ")),
		Next: "kubectl drain this node, then run the same command again",
	}
}

// on turns the mode on where it is off, and asks the cards again.
func (m MIG) on(ctx context.Context, cards []Divided) ([]Divided, error) {
	off := func(d Divided) bool { return !d.On }
	if !slices.ContainsFunc(cards, off) {
		return cards, nil
	}
	if err := m.mode(ctx, "1"); err != nil {
		return nil, &Failure{What: "turn MIG on", Err: err, Next: "not every card has MIG: nvidia-smi mig -lgip lists the profiles of those that do"}
	}
	cards, err := m.Cards(ctx)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(cards, off); i >= 0 {
		return nil, &RebootError{Why: "GPU " + cards[i].Card + " turns MIG on when it is reset"}
	}
	return cards, nil
}

// clear removes all instances. nvidia-smi fails where there are none.
func (m MIG) clear(ctx context.Context, cards []Divided) error {
	if !slices.ContainsFunc(cards, func(d Divided) bool { return len(d.Profiles) > 0 }) {
		return nil
	}
	for _, what := range []string{"-dci", "-dgi"} {
		if err := m.run(ctx, "nvidia-smi", "mig", what); err != nil {
			return &Failure{What: "remove the instances of the GPUs", Err: err, Next: "nvidia-smi says which processes use them"}
		}
	}
	return nil
}

// create has the unit make the instances, as it does at each boot.
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
	if err := m.describeAnew(); err != nil {
		return err
	}
	if err := m.run(ctx, "systemctl", "restart", MIGUnit); err != nil {
		return m.explainUnit(ctx, MIGUnit, err)
	}
	return m.run(ctx, "systemctl", "try-restart", CDIUnit) // the runtime is to know them, if it was told before
}

// whole takes back what this step has divided. The mode goes at last, and only from
// cards without instances; that there is none to remove is fine.
func (m MIG) whole(ctx context.Context) error {
	if !m.has(strings.TrimPrefix(migUndo, "/")) {
		return nil
	}
	if err := m.run(ctx, "systemctl", "disable", "--now", MIGUnit); err != nil {
		return err
	}
	if err := host.Remove(m.path(migFile)); err != nil {
		return err
	}
	if !m.has(driverFile) { // nobody can ask the cards; the next driver finds them as its generation keeps them
		return host.Remove(m.path(migUndo))
	}
	m.run(ctx, "nvidia-smi", "mig", "-dci") //nolint:errcheck // the next one would say
	m.run(ctx, "nvidia-smi", "mig", "-dgi") //nolint:errcheck // the next one would say
	if err := m.mode(ctx, "0"); err != nil {
		return &Failure{What: "make the GPUs whole", Err: err, Next: "nvidia-smi says which processes use them"}
	}
	if m.Cards != nil {
		cards, err := m.Cards(ctx)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(cards, func(d Divided) bool { return d.On }); i >= 0 {
			return &RebootError{Why: "GPU " + cards[i].Card + " turns MIG off when it is reset"}
		}
	}
	return host.Remove(m.path(migUndo))
}

// mode turns MIG on or off. Up to Ampere that takes a reset of the card, which whoever
// has it open prevents: the persistence daemon lets go for so long.
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
