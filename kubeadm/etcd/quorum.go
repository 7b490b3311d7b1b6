package etcd

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/advice"
)

// CanRemove is nil when etcd keeps its quorum without a member: of the members that
// stay, more than half have to be well. It is an error that names those that are
// not. A learner has no vote and may always go.
//
// Rule: https://etcd.io/docs/v3.6/faq/, "Should I add a member before removing an
// unhealthy member?"; the other way round there never is a moment with less.
func CanRemove(members []Member, leaving Member) error {
	if leaving.Learner {
		return nil
	}
	stay := slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return m.Learner || m.ID == leaving.ID })
	if len(stay) == 0 {
		err := fmt.Errorf("remove %s from etcd: it is the last member and has the data of the cluster", leaving.Called())
		return advice.Add(err, "join another control-plane host first; or run airgap reset on each host to remove the whole cluster")
	}
	var sick []string
	for _, m := range stay {
		if m.Err != nil {
			sick = append(sick, m.Called()+": "+m.Err.Error())
		}
	}
	if well := len(stay) - len(sick); well > len(stay)/2 {
		return nil
	}
	err := fmt.Errorf("take %s out of etcd: etcd would lose its quorum: of the %d members that stay, %d are not well\n  %s",
		leaving.Called(), len(stay), len(sick), strings.Join(sick, "\n  "))
	return advice.Add(err, "bring those hosts back first, or take one that is lost for good out before: airgap remove NODE --force")
}
