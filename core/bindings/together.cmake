# Sources that are compiled as one, a group on each line: what they share is then compiled once, which takes a quarter
# off the time of a build. Larger groups would need too much memory. A source that is not here is compiled alone.
set(together
  "bind_attribute_files bind_attributes bind_model_checks bind_text"
  "bind_chain_queries bind_fields bind_runs module"
  "bind_chain_batches bind_graph_oracles bind_oracles"
  "bind_graphs bind_junction_tree"
  "methods/lbfgs methods/owlqn methods/smd"
  "methods/sag methods/saga methods/svrg methods/sgd methods/adagrad methods/perceptron methods/pa \
methods/arow methods/all"
)
