package bundle

import (
	"errors"
	"fmt"
	"strings"

	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// groupUnreachable replaces all failed connections in err by one error that names each server
// once, because one missing proxy setting can fail every image. Other errors stay.
func groupUnreachable(err error) error {
	var others []error
	var hosts []string
	causes := map[string]error{}
	for _, one := range joined(err) {
		unreachable := fetch.UnreachableIn(one)
		if unreachable == nil {
			others = append(others, one)
		}
		for _, u := range unreachable {
			if causes[u.Host] == nil {
				hosts, causes[u.Host] = append(hosts, u.Host), u.Cause
			}
		}
	}
	if len(hosts) == 0 {
		return err
	}
	lines := []string{"connect to " + ui.Count(len(hosts), "server") + ":"}
	for _, host := range hosts {
		lines = append(lines, fmt.Sprintf("  %s: %v", host, causes[host]))
	}
	unreachable := advice.Add(errors.New(strings.Join(lines, "\n")),
		"check DNS and the firewall for these servers; behind a proxy, set sources.proxy of airgap.yaml or HTTPS_PROXY; for a mirror, set sources.rewrite")
	return errors.Join(append([]error{unreachable}, others...)...)
}

// joined returns the errors of errors.Join, at any depth, in their order.
func joined(err error) []error {
	list, is := err.(interface{ Unwrap() []error })
	if !is {
		return []error{err}
	}
	var all []error
	var texts []string
	for _, one := range list.Unwrap() {
		all, texts = append(all, joined(one)...), append(texts, one.Error())
	}
	if strings.Join(texts, "\n") != err.Error() { // fmt.Errorf with several %w
		return []error{err}
	}
	return all
}
