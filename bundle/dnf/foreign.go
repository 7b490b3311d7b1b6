package dnf

import (
	"context"
	"slices"

	"airgap.dev/airgap/internal/nevra"
)

// Foreign returns the installed packages of a name that Run did not install, as
// NAME-EPOCH:VERSION-RELEASE.ARCH.
func (t Transaction) Foreign(ctx context.Context, name string) ([]string, error) {
	have, err := t.installed(ctx)
	if err != nil {
		return nil, err
	}
	done, err := t.recorded()
	if err != nil {
		return nil, err
	}
	var foreign []string
	for one := range have {
		n, err := nevra.Parse(one)
		if err == nil && n.Name == name && !slices.Contains(done.Packages, n) {
			foreign = append(foreign, one)
		}
	}
	slices.Sort(foreign)
	return foreign, nil
}
