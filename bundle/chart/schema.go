package chart

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v4/pkg/chart/common"
	helm "helm.sh/helm/v4/pkg/chart/v2"
)

// validateAll validates values with the schemas of a chart and its dependencies. Unlike Helm
// it fetches nothing. unjudged has sentences about charts with values that were not
// validated.
func validateAll(c *helm.Chart, values common.Values) (unjudged []string, err error) {
	var errs []error
	if c.Schema != nil {
		var remote *jsonschema.LoadURLError
		switch err := validate(c.Schema, values); {
		case errors.As(err, &remote):
			unjudged = append(unjudged, fmt.Sprintf("the values of chart %s are not validated: its values.schema.json refers to %s, and airgap fetches nothing while it renders a chart", c.Name(), remote.URL))
		case err != nil:
			errs = append(errs, fmt.Errorf("values.schema.json of chart %s: %w", c.Name(), err))
		}
	}
	for _, d := range c.Dependencies() {
		switch below := values[d.Name()].(type) {
		case nil: // no values
		case map[string]any:
			more, err := validateAll(d, below)
			unjudged, errs = append(unjudged, more...), append(errs, err)
		default:
			errs = append(errs, fmt.Errorf("the values of chart %s must be a mapping, not %T", d.Name(), below))
		}
	}
	return unjudged, errors.Join(errs...)
}

const schemaURL = "file:///values.schema.json"

// validate validates values with one schema. A schema can make the library panic.
func validate(schema []byte, values common.Values) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("airgap cannot use this schema: %v", r)
		}
	}()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(closed{})
	if err := compiler.AddResource(schemaURL, parsed); err != nil {
		return err
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return err
	}
	if err := compiled.Validate(values.AsMap()); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "jsonschema validation failed with '"+schemaURL+"#'\n"))
	}
	return nil
}

// closed is a loader that loads no schemas. The library contains the drafts of
// json-schema.org and does not ask the loader for them.
type closed struct{}

func (closed) Load(string) (any, error) { return nil, errors.New("it is not in the chart") }
