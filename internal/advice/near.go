package advice

import (
	"strings"

	"github.com/spf13/cobra"
)

// DidYouMean names the words that may have been meant: ", but swap", or nothing.
func DidYouMean(typed string, words []string) string {
	all := &cobra.Command{SuggestionsMinimumDistance: 3} // it knows how to find words that are near
	for _, w := range words {
		all.AddCommand(&cobra.Command{Use: w, Run: func(*cobra.Command, []string) {}})
	}
	near := all.SuggestionsFor(typed)
	if len(near) == 0 {
		return ""
	}
	return ", but " + strings.Join(near, " and ")
}
