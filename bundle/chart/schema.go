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

// judge holds values to the schemas of a chart and its dependencies, as Helm does, but for
// one thing: nothing is fetched. unjudged says of which charts the values were not
// validated, and why.
func judge(c *helm.Chart, values common.Values) (unjudged []string, err error) {
	var errs []error
	if c.Schema != nil {
		var away *jsonschema.LoadURLError
		switch err := validate(c.Schema, values); {
		case errors.As(err, &away):
			unjudged = append(unjudged, fmt.Sprintf("the values of chart %s are not validated: its values.schema.json refers to %s, and nothing is fetched while a chart is rendered", c.Name(), away.URL))
		case err != nil:
			errs = append(errs, fmt.Errorf("values.schema.json of chart %s: %w", c.Name(), err))
		}
	}
	for _, d := range c.Dependencies() {
		switch below := values[d.Name()].(type) {
		case nil: // none are given
		case map[string]any:
			more, err := judge(d, below)
			unjudged, errs = append(unjudged, more...), append(errs, err)
		default:
			errs = append(errs, fmt.Errorf("the values of chart %s are to be a map, and are a %T", d.Name(), below))
		}
	}
	return unjudged, errors.Join(errs...)
}

const schemaURL = "file:///values.schema.json"

// validate judges values by one schema. What its author wrote may make the library panic.
func validate(schema []byte, values common.Values) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it cannot be used: %v", r)
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

// closed is the loader of schemas: it has none. Those of json-schema.org's drafts are in the
// library, which does not ask it for them.
type closed struct{}

func (closed) Load(string) (any, error) { return nil, errors.New("it is not in the chart") }
