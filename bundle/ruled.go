package bundle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"airgap.dev/airgap/bundle/operators"
	"airgap.dev/airgap/bundle/workload"
	"airgap.dev/airgap/internal/ui"
)

// planOperators lists the operators among the objects, and returns the images
// that the rules name for their pods. If a registry does not have such an image,
// the operator gets a warning: the rule may be wrong for this version.
func (p *Plan) planOperators(ctx context.Context, c *Client, r Request, progress ui.Progress) ([]Need, error) {
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
		return c.missing(ctx, image, r)
	})
	if err != nil {
		return nil, err
	}
	missing := map[string]string{}
	for i, name := range names {
		missing[name] = answers[i]
	}
	return p.needsOfOperators(missing), nil
}

// needsOfOperators are the images that a registry has; missing has the reasons
// for the others.
func (p *Plan) needsOfOperators(missing map[string]string) []Need {
	var needs []Need
	for i := range p.Operators {
		o := &p.Operators[i]
		for _, ref := range o.Refs {
			if why := missing[ref.Image]; why != "" {
				o.Warnings = append(o.Warnings, fmt.Sprintf("image %s, for %s, %s; list what takes its place in images.list, or give a rule in images.rules", ref.Image, ref.Where, why))
				continue
			}
			needs = append(needs, Need{Reference: ref.Image, NeededBy: ref.Where})
		}
	}
	return needs
}

// rulesOf are airgap's rules and the site's.
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
			errs = append(errs, fmt.Errorf("images.rules: %s: another file has a rule %q already", file, rule.Name))
		}
		own = append(own, rule)
	}
	return operators.With(rules, own), errors.Join(errs...)
}

// missing is the reason why a registry does not have an image; "" if it has it.
// It is also "" if the registry did not answer: resolving all images reports that.
func (c *Client) missing(ctx context.Context, image string, r Request) (string, error) {
	named, err := parseName(image)
	if err != nil {
		return "", err
	}
	if r.Locked.image(named.String()) != "" {
		return "", nil
	}
	repo, err := c.repository(named.Name())
	if err != nil {
		return "", err
	}
	_, err = c.manifest(ctx, refIn(repo, named))
	var answer *transport.Error
	if errors.As(err, &answer) && slices.Contains([]int{http.StatusNotFound, http.StatusUnauthorized, http.StatusForbidden}, answer.StatusCode) {
		return "is not carried: " + err.Error(), nil
	}
	return "", nil
}
