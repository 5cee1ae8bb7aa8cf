"""ValidatingAdmissionPolicy: rules in CEL that refuse writes, or warn of them.

Read ``policy`` first (a policy and its bindings as they are stored), then ``params`` (the objects that a binding hands
to its policy), then ``plugin`` (what a request is told). Pure: an expression sees the request, its objects, its
namespace and its parameters, and costs no more than its budget.
"""
