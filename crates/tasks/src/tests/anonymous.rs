//! What an anonymous caller reaches: the tasks whose ids it was given, and no others.
//!
//! The cipher of the ids is tested in `anonymous`; which agents such a caller may ask is tested in `site`.

use super::*;

fn guest() -> Caller {
    Caller::anonymous("192.0.2.7".parse().unwrap())
}

#[tokio::test]
async fn an_anonymous_caller_reaches_its_task_by_the_id_that_it_was_given() {
    let story = Story::begin();
    let agent = story.agent("echo", echo());
    let shown = story.try_send(&guest(), &agent, story.says("hello")).await.unwrap().settled().await;
    let read = story.tasks.get(&guest(), shown.head.id).await.unwrap();
    assert_eq!((read.answer().as_str(), read.head.id), ("hello", shown.head.id));
    let stored = story.tasks.control().stored_id(&guest(), shown.head.id);
    assert_ne!(stored, shown.head.id);
    let refused = story.tasks.get(&guest(), stored).await.unwrap_err();
    assert!(matches!(refused, TaskError::NoSuchTask(_)), "the id of the store is not authority: {refused}");
}
