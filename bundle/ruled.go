package bundle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"airgap.dev/airgap/bundle/operators"
	"airgap.dev/airgap/bundle/workload"
	"airgap.dev/airgap/internal/ui"
)

// planOperators lists the operators among the objects, and returns the images that the
// rules name for their pods. An image that its registry does not have is not carried:
// the rule may be wrong for this version.
func (p *Plan) planOperators(ctx context.Context, up upstream, r Request, progress ui.Progress) ([]Need, error) {
	rules, err := rulesOf(r)
	if err != nil {
		return nil, err
	}
	p.Operators = operators.Find(p.Sets, rules)
	images := map[string]bool{}
	for _, o := range p.Operators {
		for _, ref := range o.Refs {
			images[ref.Image] = true
		}
	}
	names := slices.Sorted(maps.Keys(images))
	answers, err := each(ctx, "resolve images of operators", names, progress, func(ctx context.Context, image string) (string, error) {
		return up.missing(ctx, image, r)
	})
	if err != nil {
		return nil, err
	}
	missing := map[string]string{}
	for i, name := range names {
		missing[name] = answers[i]
	}
	return p.needsOfOperators(missing, r), nil
}

// needsOfOperators returns the images that a registry has; missing has the reasons for
// the others, which are not in the bundle.
func (p *Plan) needsOfOperators(missing map[string]string, r Request) []Need {
	var needs []Need
	lacking := map[string]*NotCarried{}
	for _, o := range p.Operators {
		for _, ref := range o.Refs {
			why := missing[ref.Image]
			switch {
			case p.ignoring(ref.Image, ref.Where, r):
			case why == "":
				needs = append(needs, Need{Reference: ref.Image, NeededBy: ref.Where})
			case lacking[ref.Image] == nil:
				lacking[ref.Image] = &NotCarried{Reference: ref.Image, Reason: why, FoundIn: []string{ref.Where}}
			default:
				lacking[ref.Image].FoundIn = append(lacking[ref.Image].FoundIn, ref.Where)
			}
		}
	}
	for _, n := range lacking {
		p.Lock.NotCarried = append(p.Lock.NotCarried, *n) // settle sorts them
	}
	return needs
}

// rulesOf returns airgap's rules and the site's rules.
func rulesOf(r Request) ([]operators.Rule, error) {
	rules, err := operators.Builtin()
	if err != nil {
		return nil, err
	}
	var own []operators.Rule
	var errs []error
	for _, file := range r.Rules {
		text, err := readFile(r.Dir, file, workload.MaxFile)
		if err != nil {
			errs = append(errs, fmt.Errorf("images.rules: %w", err))
			continue
		}
		rule, err := operators.Parse(file, text)
		if err != nil {
			errs = append(errs, fmt.Errorf("images.rules: %w", err))
		}
		if slices.ContainsFunc(own, func(o operators.Rule) bool { return o.Name == rule.Name }) {
			errs = append(errs, fmt.Errorf("images.rules: %s: another file already has a rule %q", file, rule.Name))
		}
		own = append(own, rule)
	}
	return operators.With(rules, own), errors.Join(errs...)
}

// missing returns the reason why a registry does not have an image; "" if it has it,
// and also if the registry did not answer, because the resolution of all images reports
// that.
func (up upstream) missing(ctx context.Context, image string, r Request) (string, error) {
	named, err := parseName(image)
	if err != nil {
		return "", err
	}
	if r.Locked.image(named.String()) != "" {
		return "", nil
	}
	repo, err := up.Repository(named.Repository())
	if err != nil {
		return "", err
	}
	if _, err = up.manifest(ctx, refIn(repo, named)); err == nil {
		return "", nil
	}
	if why := reasonFor(err); why == reasonMissing || why == reasonRefused {
		return why, nil
	}
	return "", nil
}
