package install

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"airgap.dev/airgap/cluster/dryrun"
	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/remote"
)

// askOthers asks the other hosts for their changes, and puts them into their plans. Nothing is installed on them: a host
// without airgap.rpm cannot be asked.
func (i *installation) askOthers(ctx context.Context, plans []dryrun.Host) error {
	f, err := fleet.Connect(ctx, i.site, i.view.Top(), fleet.Options{Console: i.options.Console, NoSSH: i.options.NoSSH, Partial: true, Choice: i.options.Choice})
	if err == nil && f == nil {
		err = advice.Add(errors.New("ask all hosts: airgap.yaml has no section ssh, or no other host"), "run airgap join with --dry-run on each host")
	}
	if err != nil {
		return err
	}
	defer f.Close()
	args, byName, err := join.Question(i.site, i.view.Top())
	if err != nil {
		return err
	}
	if len(i.options.Skip) > 0 {
		args = append(args, "--skip", strings.Join(i.options.Skip, ","))
	}
	var files []remote.File
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		files = append(files, remote.File{Name: name, Data: byName[name]})
	}
	answers := fleet.AskEach(ctx, f, func(n config.Node) fleet.Question {
		return fleet.Question{Args: append(slices.Clone(args), "--node", n.Name), Files: files, Long: true}
	})
	for _, a := range answers {
		at := slices.IndexFunc(plans, func(h dryrun.Host) bool { return h.Node == a.Host })
		if at >= 0 {
			plans[at].Answer(a.Read)
		}
	}
	return ctx.Err()
}
